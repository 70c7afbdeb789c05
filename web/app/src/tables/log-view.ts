import { ChangeDetectionStrategy, Component, computed, signal } from '@angular/core';
import { counted, moment, whole } from '../format';
import { follow, rowsOf, textOf } from './follow';
import { LOGS } from './table-list';

const PAGE = 200;

const LEVELS: Record<string, { readonly label: string; readonly tone: string }> = {
  INFO: { label: 'info', tone: 'calm' },
  WARN: { label: 'warning', tone: 'warn' },
  ERROR: { label: 'error', tone: 'bad' },
};

const FILTERS = [
  { label: 'All', filter: '' },
  { label: 'Warnings and errors', filter: "level in ('WARN', 'ERROR')" },
  { label: 'Errors', filter: "level = 'ERROR'" },
] as const;

/** Shows the orchestrator's log, newest first. */
@Component({
  selector: 'et-log-view',
  changeDetection: ChangeDetectionStrategy.OnPush,
  styles: `
    :host {
      display: flex;
      flex-direction: column;
      min-height: 0;
      height: 100%;
    }
    .bar {
      display: flex;
      flex-wrap: wrap;
      gap: 0.5rem;
      align-items: center;
      justify-content: space-between;
      padding: 0.4rem 0.75rem;
      border-bottom: 1px solid var(--line);
    }
    [role="group"] {
      display: flex;
      flex-wrap: wrap;
      gap: 0.3rem;
    }
    .bar button {
      padding: 0.2rem 0.6rem;
      font-size: 0.82rem;
    }
    .bar button[aria-pressed="true"] {
      border-color: var(--accent);
      background: var(--accent-soft);
    }
    .count {
      color: var(--quiet);
      font-size: 0.82rem;
      font-variant-numeric: tabular-nums;
    }
    .lines {
      flex: 1;
      min-height: 0;
      overflow: auto;
    }
    .lines:focus-visible {
      outline-offset: -2px;
    }
    ol {
      display: grid;
      grid-template-columns: max-content max-content 1fr;
      gap: 0 0.75rem;
      margin: 0;
      padding: 0;
      list-style: none;
    }
    li {
      display: grid;
      grid-column: 1 / -1;
      grid-template-columns: subgrid;
      padding: 0.22rem 0.75rem;
      border-bottom: 1px solid var(--hairline);
      border-left: 3px solid transparent;
      font-size: 0.85rem;
    }
    time {
      color: var(--quiet);
      font-variant-numeric: tabular-nums;
    }
    .level {
      color: var(--quiet);
    }
    .msg {
      min-width: 0;
      overflow-wrap: anywhere;
    }
    [data-tone="warn"] {
      border-left-color: var(--warn);
    }
    [data-tone="warn"] .level {
      color: var(--warn);
      font-weight: 600;
    }
    [data-tone="bad"] {
      border-left-color: var(--bad);
    }
    [data-tone="bad"] .level {
      color: var(--bad);
      font-weight: 600;
    }
    .none {
      padding: 2rem 0.75rem;
      color: var(--quiet);
      text-align: center;
    }
    .more {
      display: block;
      margin: 0.5rem auto;
    }
    @media (max-width: 600px) {
      li {
        grid-template-columns: max-content 1fr;
      }
      .msg {
        grid-column: 1 / -1;
      }
    }
  `,
  template: `
    <div class="bar">
      <div role="group" aria-label="Levels">
        @for (choice of choices; track choice.label) {
          <button type="button" [attr.aria-pressed]="choice.filter === filter()" (click)="load(choice.filter, page)">{{ choice.label }}</button>
        }
      </div>
      <span class="count">{{ lineCount() }}</span>
    </div>
    <div class="lines" tabindex="0" role="region" aria-label="The log, newest first">
      <ol>
        @for (line of lines(); track line.id) {
          <li [attr.data-tone]="line.tone">
            <time [attr.datetime]="line.iso">{{ line.at }}</time>
            <span class="level">{{ line.level }}</span>
            <span class="msg">{{ line.msg }}</span>
          </li>
        }
      </ol>
      @if (log.page()?.total === 0) {
        <p class="none">{{ filter() ? 'No such lines.' : 'Nothing was logged yet.' }}</p>
      } @else if (!log.page()) {
        <p class="none" role="status">{{ log.refusal()?.message ?? 'Loading the log …' }}</p>
      }
      @if (hidden() > 0) {
        <button type="button" class="plain more" (click)="load(filter(), limit() + page)">{{ whole(hidden()) }} older lines</button>
      }
    </div>
  `,
})
export class LogView {
  protected readonly choices = FILTERS;
  protected readonly page = PAGE;
  protected readonly whole = whole;
  protected readonly filter = signal('');
  protected readonly limit = signal(PAGE);
  protected readonly log = follow(LOGS, { limit: PAGE, newestFirst: true });

  protected readonly lines = computed(() => {
    const page = this.log.page();
    return rowsOf(page).map((row, index) => {
      const level = LEVELS[textOf(row.level)] ?? { label: textOf(row.level).toLowerCase(), tone: 'calm' };
      const iso = textOf(row.ts);
      // counted from the oldest, so that a line keeps its element when newer ones arrive
      return {
        id: (page?.total ?? 0) - index,
        iso,
        at: moment(iso),
        level: level.label,
        tone: level.tone,
        msg: textOf(row.msg),
      };
    });
  });
  protected readonly hidden = computed(() =>
    Math.max((this.log.page()?.total ?? 0) - this.lines().length, 0),
  );
  protected readonly lineCount = computed(() => {
    const total = this.log.page()?.total;
    return total === undefined ? '' : counted(total, 'line');
  });

  protected load(filter: string, limit: number): void {
    this.filter.set(filter);
    this.limit.set(limit);
    this.log.view({ filter, limit, newestFirst: true });
  }
}
