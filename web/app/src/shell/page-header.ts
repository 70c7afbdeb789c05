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
import type { Connection } from '@evertable/client';
import { counted, rate, span } from '../format';
import { Session } from '../session/session';
import { OrchestratorStatus } from '../status/orchestrator-status';
import { StatusPoller } from '../status/status-poller';
import { ChosenTable, DEAD_LETTERS, TableList } from '../tables/table-list';
import { type ColorScheme, Theme } from './theme';

const SCHEME_LABELS: Record<ColorScheme, string> = { system: 'Auto', light: 'Light', dark: 'Dark' };

export interface ConnectionText {
  readonly text: string;
  /** The part that changes every second, which screen readers skip. */
  readonly detail: string;
  readonly tone: 'good' | 'wait' | 'bad';
}

/** Returns the state of the connection as text. */
export function connectionText(connection: Connection, now: number): ConnectionText {
  switch (connection.state) {
    case 'live':
      return { text: 'live', detail: '', tone: 'good' };
    case 'connecting':
      return { text: 'connecting', detail: ' …', tone: 'wait' };
    case 'stale':
      return { text: 'no response', detail: ` for ${seconds(now - connection.since)}`, tone: 'wait' };
    case 'reconnecting': {
      const wait = (connection.retryAt ?? 0) - now;
      const next = wait > 1_500 ? `, next try in ${seconds(wait)}` : '';
      return { text: 'reconnecting', detail: `${next} …`, tone: 'wait' };
    }
    case 'refused':
      return { text: 'refused', detail: '', tone: 'bad' };
    case 'disposed':
      return { text: 'ended', detail: '', tone: 'bad' };
  }
}

function seconds(ms: number): string {
  return `${Math.max(Math.round(ms / 1000), 0)} s`;
}

/** Shows the state of the connection and the flow, and the buttons for the whole page. */
@Component({
  selector: 'et-page-header',
  changeDetection: ChangeDetectionStrategy.OnPush,
  styles: `
    :host {
      display: flex;
      gap: 0.5rem;
      align-items: center;
      padding: 0.45rem 0.75rem;
      background: var(--surface);
    }
    h1 {
      margin: 0;
      font-size: 1rem;
      letter-spacing: -0.01em;
    }
    .connection {
      display: inline-flex;
      gap: 0.4rem;
      align-items: center;
      margin-left: 0.5rem;
      font-size: 0.85rem;
      white-space: nowrap;
    }
    .connection::before {
      flex: none;
      width: 0.55rem;
      height: 0.55rem;
      border-radius: 50%;
      background: var(--quiet);
      content: "";
    }
    .connection[data-tone="good"]::before {
      background: var(--good);
    }
    .connection[data-tone="wait"]::before {
      background: var(--warn);
    }
    .connection[data-tone="bad"]::before {
      background: var(--bad);
    }
    .figures {
      display: flex;
      flex: 1;
      gap: 0.9rem;
      align-items: center;
      min-width: 0;
      margin-left: 0.6rem;
      overflow: hidden;
      color: var(--quiet);
      font-size: 0.85rem;
      font-variant-numeric: tabular-nums;
      white-space: nowrap;
    }
    button {
      flex: none;
      padding: 0.25rem 0.6rem;
      font-size: 0.85rem;
    }
    .flow {
      overflow: hidden;
      text-overflow: ellipsis;
    }
    .alarm {
      border-color: transparent;
      background: var(--warn-soft);
      color: var(--warn);
      font-weight: 600;
    }
    [aria-expanded="true"] {
      border-color: var(--accent);
      background: var(--accent-soft);
    }
    .busy::after {
      display: inline-block;
      width: 0.5rem;
      height: 0.5rem;
      margin-left: 0.4rem;
      border-radius: 50%;
      background: var(--accent);
      content: "";
    }
    @media (max-width: 760px) {
      .wide {
        display: none;
      }
      :host {
        flex-wrap: wrap;
        gap: 0.4rem;
      }
      .connection {
        flex: 1;
        min-width: 0;
        overflow: hidden;
        text-overflow: ellipsis;
        margin-left: 0.2rem;
      }
      .alarm {
        padding-block: 0.1rem;
      }
      .figures {
        order: 1;
        flex: 1 0 100%;
        justify-content: space-between;
        margin-left: 0;
      }
    }
    @media (max-width: 480px) {
      h1 {
        position: absolute;
        clip-path: inset(50%);
      }
    }
  `,
  template: `
    <img src="logo.svg" alt="" width="24" height="24" />
    <h1>Evertable</h1>
    <span class="connection" [attr.data-tone]="connection().tone" [title]="reason()">
      <span><span role="status">{{ connection().text }}</span>{{ connection().detail }}</span>
    </span>
    <span class="figures">
      @if (figures(); as figures) {
        <span class="flow">{{ figures.rate }}<span class="wide"> newest row</span> {{ figures.age }}</span>
      }
      @if (deadLetters(); as text) {
        <button class="alarm" type="button" (click)="chosen.choose(deadLetterTable)">{{ text }}</button>
      }
    </span>
    <button type="button" (click)="theme.toggle()" [attr.aria-label]="'Colours: ' + schemeLabel() + '. Change'">{{ schemeLabel() }}</button>
    @if (session.token()) {
      <button type="button" (click)="session.forget()">Forget token</button>
    }
    <button
      type="button"
      id="wiring-button"
      aria-controls="wiring"
      [attr.aria-expanded]="isWiringOpen()"
      [class.busy]="status.upcoming()"
      (click)="wiringToggled.emit()"
    >
      Wiring
    </button>
  `,
})
export class PageHeader {
  readonly isWiringOpen = input.required<boolean>();
  readonly wiringToggled = output<void>();

  private readonly evertable = inject(Evertable);
  private readonly poller = inject(StatusPoller);
  private readonly list = inject(TableList);
  private readonly now = signal(Date.now());
  protected readonly session = inject(Session);
  protected readonly theme = inject(Theme);
  protected readonly status = inject(OrchestratorStatus);
  protected readonly chosen = inject(ChosenTable);
  protected readonly deadLetterTable = DEAD_LETTERS;

  protected readonly connection = computed(() => connectionText(this.evertable.connection(), this.now()));
  protected readonly reason = computed(() => this.evertable.connection().reason?.message ?? '');
  protected readonly schemeLabel = computed(() => SCHEME_LABELS[this.theme.scheme()]);
  protected readonly figures = computed(() => {
    const { rate: rows, age } = this.poller.latest() ?? {};
    if (rows == null || age == null || this.evertable.connection().state !== 'live') return null;
    return { rate: `${rate(rows)} rows/s ·`, age: `${span(age)} old` };
  });
  protected readonly deadLetters = computed(() => {
    const count = this.list.rows().get(DEAD_LETTERS) ?? 0;
    return count > 0 ? counted(count, 'dead letter') : '';
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
