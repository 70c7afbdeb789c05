import { ChangeDetectionStrategy, Component, computed, inject } from '@angular/core';
import { OrchestratorStatus } from '../status/orchestrator-status';
import { ChosenTable, TableList } from '../tables/table-list';

/** Explains above the table why it has no rows yet, or why they are stale. */
@Component({
  selector: 'et-notice',
  changeDetection: ChangeDetectionStrategy.OnPush,
  styles: `
    p {
      margin: 0;
      padding: 0.45rem 0.75rem;
      border-bottom: 1px solid var(--line);
      background: var(--accent-soft);
      font-size: 0.87rem;
      overflow-wrap: anywhere;
    }
    [data-tone="bad"] {
      background: var(--warn-soft);
      color: var(--warn);
    }
  `,
  template: `
    @if (notice(); as notice) {
      <p [attr.data-tone]="notice.tone"><span role="status">{{ notice.text }}</span> {{ notice.details }}</p>
    }
  `,
})
export class Notice {
  private readonly status = inject(OrchestratorStatus);
  private readonly list = inject(TableList);
  private readonly chosen = inject(ChosenTable);

  protected readonly notice = computed(() => {
    const hasNoGeneration = this.status.isStarting() || (this.status.row() && this.status.generation() === 0);
    if (hasNoGeneration) {
      const details = this.status.message() || 'The engine is starting …';
      return { tone: 'wait', text: this.startText(), details };
    }
    if (this.status.state() !== 'stale') return null;
    return { tone: 'bad', text: 'These are the last rows received:', details: this.status.message() };
  });

  /** After a restart, the rows from before it are still shown. */
  private readonly startText = computed(() => {
    const rows = this.list.rows().get(this.chosen.name() ?? '') ?? 0;
    return rows > 0
      ? 'The server was restarted; these are the last rows received.'
      : 'The first rows are on their way.';
  });
}
