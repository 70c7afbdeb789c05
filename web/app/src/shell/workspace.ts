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
import { refusalText } from '../format';
import { readStorage, writeStorage } from '../storage';
import { ChosenTable, TableList } from '../tables/table-list';
import { TableStage } from '../tables/table-stage';
import { TableTabs } from '../tables/table-tabs';
import { WiringPanel } from '../wiring/wiring-panel';
import { Notice } from './notice';
import { PageHeader } from './page-header';

const NARROW = '(max-width: 900px)';
const KEY = 'evertable.wiring';

/** Lays out the header, the tabs, the chosen table, and the wiring panel beside it (over it on phones). */
@Component({
  selector: 'et-workspace',
  changeDetection: ChangeDetectionStrategy.OnPush,
  imports: [Notice, PageHeader, TableStage, TableTabs, WiringPanel],
  styles: `
    :host {
      display: flex;
      flex-direction: column;
      height: 100dvh;
    }
    .skip {
      position: absolute;
      z-index: 10;
      top: 0.4rem;
      left: 0.4rem;
      padding: 0.4rem 0.8rem;
      border-radius: 6px;
      background: var(--accent);
      color: var(--on-accent);
    }
    .skip:not(:focus) {
      clip-path: inset(50%);
    }
    .body {
      display: flex;
      flex: 1;
      min-height: 0;
      border-top: 1px solid var(--line);
    }
    main {
      display: flex;
      flex: 1;
      flex-direction: column;
      min-width: 0;
    }
    main:focus {
      outline: none;
    }
    et-table-stage {
      flex: 1;
    }
    .empty {
      display: grid;
      gap: 0.5rem;
      justify-items: center;
      margin: auto;
      padding: 1rem;
      color: var(--quiet);
      text-align: center;
    }
    .side {
      display: flex;
      flex: none;
      width: 21rem;
      border-left: 1px solid var(--line);
    }
    et-wiring-panel {
      flex: 1;
      min-width: 0;
    }
    @media (max-width: 900px) {
      .veil {
        position: fixed;
        z-index: 4;
        background: rgb(0 0 0 / 45%);
        inset: 0;
      }
      .side {
        position: fixed;
        z-index: 5;
        right: 0;
        bottom: 0;
        width: min(26rem, 100%);
        max-height: 88dvh;
        overflow: hidden;
        border: 1px solid var(--line);
        border-radius: 14px 14px 0 0;
        box-shadow: var(--shadow);
      }
    }
  `,
  host: { '(document:keydown.escape)': 'closeOverlay()' },
  template: `
    <a class="skip" href="#main" (click)="skip($event)">Skip to the table</a>
    <et-page-header role="banner" [isWiringOpen]="isOpen()" (wiringToggled)="toggle()" [inert]="isCovered()" />
    <div class="body">
      <main id="main" tabindex="-1" [inert]="isCovered()">
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
              <p>{{ refusal.condition === 'SERVER_UNREACHABLE' ? 'The server does not answer yet. This page continues when it does.' : refusalText(refusal) }}</p>
              <button type="button" (click)="list.refresh()">Try again</button>
            } @else {
              <p>Loading the tables …</p>
            }
          </div>
        }
      </main>
      @if (isOpen()) {
        @if (isNarrow()) {
          <div class="veil" (click)="toggle()"></div>
        }
        <div
          class="side"
          id="wiring"
          aria-labelledby="wiring-title"
          [attr.role]="isNarrow() ? 'dialog' : 'complementary'"
          [attr.aria-modal]="isNarrow() || null"
        >
          <et-wiring-panel (closed)="toggle()" />
        </div>
      }
    </div>
  `,
})
export class Workspace {
  protected readonly list = inject(TableList);
  protected readonly refusalText = refusalText;
  private readonly chosen = inject(ChosenTable);
  private readonly document = inject(DOCUMENT);
  private readonly window = this.document.defaultView as Window;

  /** Whether the panel has to cover the table. */
  protected readonly isNarrow = signal(false);
  protected readonly isOpen = signal(false);
  protected readonly isCovered = computed(() => this.isNarrow() && this.isOpen());

  constructor() {
    const query = this.window.matchMedia(NARROW);
    const update = () => this.isNarrow.set(query.matches);
    update();
    query.addEventListener('change', update);
    inject(DestroyRef).onDestroy(() => query.removeEventListener('change', update));
    this.isOpen.set(!this.isNarrow() && readStorage(this.window, 'localStorage', KEY) !== 'closed');
    const title = inject(Title);
    effect(() => {
      const name = this.chosen.name();
      title.setTitle(name === null ? 'Evertable' : `${name} · Evertable`);
      if (untracked(this.isCovered)) this.isOpen.set(false); // show the table that was chosen
    });
  }

  protected toggle(): void {
    this.isOpen.update((isOpen) => !isOpen);
    if (!this.isNarrow()) {
      writeStorage(this.window, 'localStorage', KEY, this.isOpen() ? 'open' : 'closed');
    }
    const next = this.isOpen() ? 'wiring-title' : 'wiring-button';
    this.window.requestAnimationFrame(() => this.document.getElementById(next)?.focus());
  }

  protected closeOverlay(): void {
    if (this.isCovered()) this.toggle();
  }

  /** The fragment names the table, so the link must not change it. */
  protected skip(event: Event): void {
    event.preventDefault();
    this.document.getElementById('main')?.focus();
  }
}
