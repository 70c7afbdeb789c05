import {
  ChangeDetectionStrategy,
  Component,
  computed,
  effect,
  inject,
  input,
  output,
  signal,
} from '@angular/core';
import { Evertable } from '@evertable/angular';
import { FlowWatch } from '../flow/flow-watch';
import { Session } from '../session/session';
import { ChosenTable } from '../tables/chosen-table';
import { DEAD_LETTERS } from '../tables/operators';
import { TableList } from '../tables/table-list';
import { Status } from '../wiring/status';
import { counted, rate, span } from '../words';
import { wordsFor } from './connection-words';
import { type Shade, Theme } from './theme';

const SHADES: Record<Shade, string> = { system: 'Auto', light: 'Light', dark: 'Dark' };

/** How things are, in a line, and the few things that concern the whole page. */
@Component({
  selector: 'et-page-header',
  changeDetection: ChangeDetectionStrategy.OnPush,
  styleUrl: './page-header.css',
  template: `
    <img src="logo.svg" alt="" width="24" height="24" />
    <h1>Evertable</h1>
    <span class="connection" [attr.data-tone]="connection().tone" [title]="why()">
      <span><span role="status">{{ connection().words }}</span>{{ connection().ticking }}</span>
    </span>
    <span class="figures">
      @if (figures(); as said) {
        <span class="flow">{{ said.rate }}<span class="wide"> newest row</span> {{ said.age }}</span>
      }
      @if (deadLetters(); as said) {
        <button class="alarm" type="button" (click)="chosen.choose(letters)">{{ said }}</button>
      }
    </span>
    <button type="button" (click)="theme.turn()" [attr.aria-label]="'Colours: ' + shade() + '. Change'">{{ shade() }}</button>
    @if (session.token()) {
      <button type="button" (click)="session.forget()">Forget token</button>
    }
    <button
      type="button"
      id="wiring-button"
      aria-controls="wiring"
      [attr.aria-expanded]="wiringOpen()"
      [class.busy]="status.coming()"
      (click)="wiring.emit()"
    >
      Wiring
    </button>
  `,
})
export class PageHeader {
  readonly wiringOpen = input.required<boolean>();
  /** The wiring panel is to be opened or closed. */
  readonly wiring = output<void>();

  private readonly evertable = inject(Evertable);
  private readonly flow = inject(FlowWatch);
  private readonly list = inject(TableList);
  private readonly now = signal(Date.now());
  protected readonly session = inject(Session);
  protected readonly theme = inject(Theme);
  protected readonly status = inject(Status);
  protected readonly chosen = inject(ChosenTable);
  protected readonly letters = DEAD_LETTERS;

  protected readonly connection = computed(() => wordsFor(this.evertable.connection(), this.now()));
  protected readonly why = computed(() => this.evertable.connection().reason?.message ?? '');
  protected readonly shade = computed(() => SHADES[this.theme.shade()]);
  protected readonly figures = computed(() => {
    const { rate: rows, age } = this.flow.now() ?? {};
    if (rows == null || age == null || this.evertable.connection().state !== 'live') return null;
    return { rate: `${rate(rows)} rows/s ·`, age: `${span(age)} old` };
  });
  protected readonly deadLetters = computed(() => {
    const letters = this.list.rows().get(DEAD_LETTERS) ?? 0;
    return letters > 0 ? counted(letters, 'dead letter') : '';
  });

  constructor() {
    effect((onCleanup) => {
      if (this.evertable.connection().state === 'live') return;
      this.now.set(Date.now());
      const clock = setInterval(() => this.now.set(Date.now()), 1_000);
      onCleanup(() => clearInterval(clock));
    });
  }
}
