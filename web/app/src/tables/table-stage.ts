import { ChangeDetectionStrategy, Component, effect, inject, signal, untracked } from '@angular/core';
import { LiveTable } from '@evertable/angular';
import { LogView } from './log-view';
import { ChosenTable, LOGS } from './table-list';
import { panelId, tabId } from './table-tabs';

/** How many recent tables stay loaded; each one costs a subscription. */
const KEPT = 3;

/** Shows the chosen table. Recent ones stay loaded behind it, so that a return to them does not flash. */
@Component({
  selector: 'et-table-stage',
  changeDetection: ChangeDetectionStrategy.OnPush,
  imports: [LiveTable, LogView],
  styles: `
    :host {
      position: relative;
      isolation: isolate;
      display: block;
      min-width: 0;
      min-height: 0;
    }
    [role="tabpanel"] {
      position: absolute;
      display: flex;
      flex-direction: column;
      z-index: 1;
      background: var(--surface);
      inset: 0;
      animation: appear 60ms 80ms backwards;
    }
    /* A new table has its first rows after a moment; until then the one before shows through. */
    .behind {
      z-index: 0;
      visibility: hidden;
      transition: visibility 0s 150ms;
    }
    @keyframes appear {
      from {
        opacity: 0;
      }
    }
    live-table {
      --live-table-accent: var(--accent);
      --live-table-background: var(--surface);
      --live-table-text: var(--ink);
      --live-table-quiet: var(--quiet);
      --live-table-line: var(--line);
      --live-table-raised: var(--sunken);
      --live-table-hover: var(--accent-soft);
      --live-table-error: var(--bad);
    }
    live-table,
    et-log-view {
      flex: 1;
      min-height: 0;
    }
  `,
  template: `
    @for (name of kept(); track name) {
      <div
        role="tabpanel"
        [id]="panelId(name)"
        [attr.aria-labelledby]="tabId(name)"
        [class.behind]="name !== chosen.name()"
        [inert]="name !== chosen.name()"
      >
        @if (name === logs) {
          <et-log-view />
        } @else {
          <live-table [table]="name" />
        }
      </div>
    }
  `,
})
export class TableStage {
  protected readonly chosen = inject(ChosenTable);
  protected readonly logs = LOGS;
  protected readonly tabId = tabId;
  protected readonly panelId = panelId;
  /** The most recent one is last. */
  private readonly recent = signal<readonly string[]>([]);
  /** In a stable order, so that no element is moved: a moved grid would lose its scroll position. */
  protected readonly kept = signal<readonly string[]>([]);

  constructor() {
    effect(() => {
      const name = this.chosen.name();
      if (name !== null) untracked(() => this.show(name));
    });
  }

  private show(name: string): void {
    const recent = [...this.recent().filter((one) => one !== name), name].slice(-KEPT);
    this.recent.set(recent);
    const remaining = this.kept().filter((one) => recent.includes(one));
    this.kept.set(remaining.includes(name) ? remaining : [...remaining, name]);
  }
}
