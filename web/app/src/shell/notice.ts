import { ChangeDetectionStrategy, Component, computed, inject } from '@angular/core';
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

  protected readonly notice = computed(() => {
    if (this.status.starting())
      return { tone: 'wait', words: 'The server has just started; its engine comes up …' };
    if (!this.status.row()) return null;
    const message = this.status.message();
    if (this.status.generation() === 0) {
      return { tone: 'wait', words: `The first rows are on their way. ${message || 'The engine starts …'}` };
    }
    if (this.status.state() === 'stale') {
      return {
        tone: 'bad',
        words: `These rows are the last that came: ${message || 'they are not kept up to date.'}`,
      };
    }
    return null;
  });
}
