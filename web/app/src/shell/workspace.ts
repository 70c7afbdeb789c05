import { DOCUMENT } from '@angular/common';
import {
  ChangeDetectionStrategy,
  Component,
  computed,
  DestroyRef,
  effect,
  inject,
  signal,
  untracked,
} from '@angular/core';
import { Title } from '@angular/platform-browser';
import { ChosenTable } from '../tables/chosen-table';
import { TableList } from '../tables/table-list';
import { TableStage } from '../tables/table-stage';
import { TableTabs } from '../tables/table-tabs';
import { WiringPanel } from '../wiring/wiring-panel';
import { Notice } from './notice';
import { PageHeader } from './page-header';
import { inWords } from './refusals';

const NARROW = '(max-width: 900px)';
const KEY = 'evertable.wiring';

/** The page: a header, a tab for every table, the chosen table, and the wiring beside it (over it, on phones). */
@Component({
  selector: 'et-workspace',
  changeDetection: ChangeDetectionStrategy.OnPush,
  imports: [Notice, PageHeader, TableStage, TableTabs, WiringPanel],
  styleUrl: './workspace.css',
  host: { '(document:keydown.escape)': 'escape()' },
  template: `
    <a class="skip" href="#main" (click)="skip($event)">Skip to the table</a>
    <et-page-header role="banner" [wiringOpen]="open()" (wiring)="turn()" [inert]="covered()" />
    <div class="body">
      <main id="main" tabindex="-1" [inert]="covered()">
        @if (list.names(); as names) {
          <et-table-tabs />
          <et-notice />
          @if (names.length) {
            <et-table-stage />
          } @else {
            <p class="empty">This server has no tables.</p>
          }
        } @else {
          <div class="empty" role="status">
            @if (list.refusal(); as refusal) {
              <p>{{ refusal.condition === 'SERVER_UNREACHABLE' ? 'The server does not answer yet. This page goes on by itself when it does.' : words(refusal) }}</p>
              <button type="button" (click)="list.ask()">Ask again</button>
            } @else {
              <p>Asking the server for its tables …</p>
            }
          </div>
        }
      </main>
      @if (open()) {
        @if (narrow()) {
          <div class="veil" (click)="turn()"></div>
        }
        <div
          class="side"
          id="wiring"
          aria-labelledby="wiring-title"
          [attr.role]="narrow() ? 'dialog' : 'complementary'"
          [attr.aria-modal]="narrow() || null"
        >
          <et-wiring-panel (closed)="turn()" />
        </div>
      }
    </div>
  `,
})
export class Workspace {
  protected readonly list = inject(TableList);
  protected readonly words = inWords;
  private readonly chosen = inject(ChosenTable);
  private readonly document = inject(DOCUMENT);
  private readonly window = this.document.defaultView as Window;

  /** Too little room for two things side by side. */
  protected readonly narrow = signal(false);
  protected readonly open = signal(false);
  protected readonly covered = computed(() => this.narrow() && this.open());

  constructor() {
    const query = this.window.matchMedia(NARROW);
    const look = () => this.narrow.set(query.matches);
    look();
    query.addEventListener('change', look);
    inject(DestroyRef).onDestroy(() => query.removeEventListener('change', look));
    this.open.set(!this.narrow() && this.kept());
    const title = inject(Title);
    effect(() => {
      const name = this.chosen.name();
      title.setTitle(name === null ? 'Evertable' : `${name} · Evertable`);
      if (untracked(this.covered)) this.open.set(false); // who chose a table wants to see it
    });
  }

  protected turn(): void {
    this.open.update((open) => !open);
    this.keep();
    const next = this.open() ? 'wiring-title' : 'wiring-button';
    this.window.requestAnimationFrame(() => this.document.getElementById(next)?.focus());
  }

  protected escape(): void {
    if (this.covered()) this.turn();
  }

  /** The fragment names the table, so the link must not change it. */
  protected skip(event: Event): void {
    event.preventDefault();
    this.document.getElementById('main')?.focus();
  }

  private kept(): boolean {
    try {
      return this.window.localStorage.getItem(KEY) !== 'closed';
    } catch {
      return true;
    }
  }

  private keep(): void {
    if (this.narrow()) return;
    try {
      this.window.localStorage.setItem(KEY, this.open() ? 'open' : 'closed');
    } catch {
      // storage is switched off
    }
  }
}
