import { ChangeDetectionStrategy, Component, computed, inject, signal } from '@angular/core';
import { whole } from '../format';
import { type Review, type ReviewedSource, StatusPoller } from '../status/status-poller';
import { SwapRequests } from './swap-requests';

/** One line of the comparison between the live tables and those of the swap. */
interface Line {
  readonly label: string;
  readonly before: string;
  readonly after: string;
}

function compare(review: Review): readonly Line[] {
  const lines = review.sources.flatMap((source) => [
    { label: `${source.source} topic`, before: source.topic_before ?? '–', after: source.topic },
    { label: `${source.source} rows`, before: countText(source.rows_before), after: countText(source.rows) },
    {
      label: `${source.source} rejected`,
      before: countText(source.rejected_before),
      after: countText(source.rejected),
    },
  ]);
  const { rows, rows_before } = review.joined;
  return [...lines, { label: 'joined rows', before: countText(rows_before), after: countText(rows) }];
}

function countText(rows: number | null): string {
  return rows === null ? '–' : whole(rows);
}

/** Shows why a swap was held, or the warnings about one that went live, with the figures. */
@Component({
  selector: 'et-swap-review',
  changeDetection: ChangeDetectionStrategy.OnPush,
  styles: `
    section {
      display: grid;
      gap: 0.5rem;
      margin-bottom: 1rem;
      padding: 0.7rem;
      border: 1px solid var(--warn);
      border-radius: 6px;
      background: var(--warn-soft);
      font-size: 0.85rem;
      overflow-wrap: anywhere;
    }
    h3,
    p {
      margin: 0;
    }
    table {
      width: 100%;
      border-collapse: collapse;
      font-variant-numeric: tabular-nums;
    }
    th,
    td {
      padding: 0.15rem 0.4rem 0.15rem 0;
      text-align: left;
      vertical-align: top;
      font-weight: normal;
    }
    thead th {
      color: var(--quiet);
    }
    tbody th {
      white-space: nowrap;
    }
    summary {
      cursor: pointer;
    }
    .actions {
      display: flex;
      gap: 0.5rem;
    }
  `,
  template: `
    @if (review(); as review) {
      <section aria-labelledby="review-title" [attr.data-result]="review.result">
        <h3 id="review-title">{{ isHeld() ? 'Swap held for review' : 'Live, with warnings' }}</h3>
        @for (remark of remarks(); track remark) {
          <p>{{ remark }}</p>
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
        @for (one of changedSources(); track one.source) {
          <details [open]="isHeld()">
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
          @if (isHeld()) {
            <button type="button" (click)="force()">Go live anyway</button>
          }
          <button class="plain" type="button" (click)="dismissed.set(review.generation)">Dismiss</button>
        </div>
      </section>
    }
  `,
})
export class SwapReview {
  private readonly poller = inject(StatusPoller);
  private readonly requests = inject(SwapRequests);

  /** The generation whose review was dismissed. */
  protected readonly dismissed = signal(0);
  protected readonly review = computed(() => {
    const review = this.poller.review();
    return review && review.generation !== this.dismissed() ? review : null;
  });
  protected readonly isHeld = computed(() => this.review()?.result === 'held');
  protected readonly remarks = computed(() => {
    const review = this.review();
    return review ? [...review.reasons, ...review.warnings] : [];
  });
  /** Sources whose topic the swap changes. */
  protected readonly changedSources = computed((): readonly ReviewedSource[] =>
    (this.review()?.sources ?? []).filter(({ topic, topic_before }) => topic !== topic_before),
  );
  protected readonly lines = computed(() => {
    const review = this.review();
    return review ? compare(review) : [];
  });

  /** Returns `30 of 30`, or a dash for none. */
  protected share(part: number, all: number): string {
    return part ? `${whole(part)} of ${whole(all)}` : '–';
  }

  protected async force(): Promise<void> {
    const review = this.review();
    if (!review) return;
    this.dismissed.set(review.generation);
    await this.requests.swap({ ...review.message, force: true });
  }
}
