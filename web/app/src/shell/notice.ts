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
      <p [attr.data-tone]="said.tone"><span role="status">{{ said.words }}</span> {{ said.details }}</p>
    }
  `,
})
export class Notice {
  private readonly status = inject(Status);
  private readonly list = inject(TableList);
  private readonly chosen = inject(ChosenTable);

  protected readonly notice = computed(() => {
    const none = this.status.starting() || (this.status.row() && this.status.generation() === 0);
    if (none)
      return { tone: 'wait', words: this.prelude(), details: this.status.message() || 'The engine starts …' };
    if (this.status.state() !== 'stale') return null;
    return { tone: 'bad', words: 'These are the last rows that came:', details: this.status.message() };
  });

  /** After a restart the rows from before it still show. */
  private readonly prelude = computed(() => {
    const rows = this.list.rows().get(this.chosen.name() ?? '') ?? 0;
    return rows > 0
      ? 'The server was restarted; these are the last rows that came.'
      : 'The first rows are on their way.';
  });
}
