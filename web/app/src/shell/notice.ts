import { ChangeDetectionStrategy, Component, computed, inject } from '@angular/core';
import { ChosenTable } from '../tables/chosen-table';
import { TableList } from '../tables/table-list';
import { Status } from '../wiring/status';

/** A line above the table, when its rows need explaining: the first ones are on their way, or they are stale. */
@Component({
  selector: 'et-notice',
  changeDetection: ChangeDetectionStrategy.OnPush,
  styleUrl: './notice.css',
  template: `
    @if (notice(); as said) {
      <p role="status" [attr.data-tone]="said.tone">{{ said.words }}</p>
    }
  `,
})
export class Notice {
  private readonly status = inject(Status);
  private readonly list = inject(TableList);
  private readonly chosen = inject(ChosenTable);

  protected readonly notice = computed(() => {
    const message = this.status.message();
    if (this.status.starting()) return { tone: 'wait', words: `${this.prelude()} The engine starts …` };
    if (!this.status.row()) return null;
    if (this.status.generation() === 0) {
      return { tone: 'wait', words: `${this.prelude()} ${message || 'The engine starts …'}` };
    }
    if (this.status.state() === 'stale') {
      return {
        tone: 'bad',
        words: `These are the last rows that came: ${message || 'they are not kept up to date.'}`,
      };
    }
    return null;
  });

  /** After a restart the rows from before it still show. */
  private readonly prelude = computed(() => {
    const rows = this.list.rows().get(this.chosen.name() ?? '') ?? 0;
    return rows > 0
      ? 'The server was restarted; these are the last rows that came.'
      : 'The first rows are on their way.';
  });
}
