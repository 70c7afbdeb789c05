import { ChangeDetectionStrategy, Component, computed, inject, signal } from '@angular/core';
import { FlowWatch } from '../flow/flow-watch';
import { whole } from '../words';
import { comparison, type ReviewedSource } from './review';
import { SwapDesk } from './swap-desk';

/** Shows why a swap was held back, or what looked odd about one that went live, with the figures. */
@Component({
  selector: 'et-swap-review',
  changeDetection: ChangeDetectionStrategy.OnPush,
  styleUrl: './swap-review.css',
  template: `
    @if (review(); as review) {
      <section aria-labelledby="review-title" [attr.data-result]="review.result">
        <h3 id="review-title">{{ held() ? 'Swap held for review' : 'Live, with warnings' }}</h3>
        @for (sentence of sentences(); track sentence) {
          <p>{{ sentence }}</p>
        }
        <table>
          <thead>
            <tr><td></td><th scope="col">Before</th><th scope="col">After</th></tr>
          </thead>
          <tbody>
            @for (line of lines(); track line.label) {
              <tr><th scope="row">{{ line.label }}</th><td>{{ line.before }}</td><td>{{ line.after }}</td></tr>
            }
          </tbody>
        </table>
        @for (one of changed(); track one.source) {
          <details [open]="held()">
            <summary>Columns of {{ one.topic }}</summary>
            <table>
              <thead>
                <tr><th scope="col">Column</th><th scope="col">Nulls</th><th scope="col">Rejects</th></tr>
              </thead>
              <tbody>
                @for (column of one.columns; track column.name) {
                  <tr>
                    <th scope="row">{{ column.name }}{{ column.name === one.key ? ' (key)' : '' }}</th>
                    <td>{{ share(column.nulls, one.rows) }}</td>
                    <td>{{ share(column.rejected, one.rows + one.rejected) }}</td>
                  </tr>
                }
              </tbody>
            </table>
          </details>
        }
        <div class="actions">
          @if (held()) {
            <button type="button" (click)="force()">Go live anyway</button>
          }
          <button class="plain" type="button" (click)="dismissed.set(review.generation)">Dismiss</button>
        </div>
      </section>
    }
  `,
})
export class SwapReview {
  private readonly flow = inject(FlowWatch);
  private readonly desk = inject(SwapDesk);

  /** The generation whose review was read. */
  protected readonly dismissed = signal(0);
  protected readonly review = computed(() => {
    const review = this.flow.review();
    return review && review.generation !== this.dismissed() ? review : null;
  });
  protected readonly held = computed(() => this.review()?.result === 'held');
  protected readonly sentences = computed(() => {
    const review = this.review();
    return review ? [...review.reasons, ...review.warnings] : [];
  });
  /** Sources that the swap points at another topic. */
  protected readonly changed = computed((): readonly ReviewedSource[] =>
    (this.review()?.sources ?? []).filter(({ topic, topic_before }) => topic !== topic_before),
  );
  protected readonly lines = computed(() => {
    const review = this.review();
    return review ? comparison(review) : [];
  });

  /** `30 of 30`, or a dash where there are none. */
  protected share(part: number, all: number): string {
    return part ? `${whole(part)} of ${whole(all)}` : '–';
  }

  protected async force(): Promise<void> {
    const review = this.review();
    if (!review) return;
    this.dismissed.set(review.generation);
    await this.desk.swap({ ...review.message, force: true });
  }
}
