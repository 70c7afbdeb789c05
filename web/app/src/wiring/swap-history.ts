import { ChangeDetectionStrategy, Component, computed, inject } from '@angular/core';
import { moment, whole } from '../format';
import { describeRequest } from '../status/wiring';
import { follow, rowsOf, textOf } from '../tables/follow';
import { ChosenTable, MESSAGES } from '../tables/table-list';
import { toneOf } from './swap-requests';

const SHOWN = 8;

/** Lists the newest control messages with their results. */
@Component({
  selector: 'et-swap-history',
  changeDetection: ChangeDetectionStrategy.OnPush,
  styles: `
    ol {
      display: grid;
      gap: 0.55rem;
      margin: 0;
      padding: 0;
      list-style: none;
    }
    li {
      display: grid;
      grid-template-columns: auto 1fr;
      gap: 0.1rem 0.5rem;
      align-items: baseline;
      font-size: 0.82rem;
    }
    time {
      color: var(--quiet);
      font-variant-numeric: tabular-nums;
    }
    .request,
    .reason,
    .none {
      grid-column: 1 / -1;
      overflow-wrap: anywhere;
    }
    .reason,
    .none {
      color: var(--quiet);
    }
    button {
      margin-top: 0.6rem;
    }
  `,
  template: `
    @if (messages.page(); as page) {
      <ol>
        @for (entry of entries(); track entry.id) {
          <li>
            <span class="pill" [attr.data-tone]="entry.tone">{{ entry.result }}</span>
            <time [attr.datetime]="entry.iso">{{ entry.at }}</time>
            <span class="request">{{ entry.request }}</span>
            @if (entry.reason) {
              <span class="reason">{{ entry.reason }}</span>
            }
          </li>
        } @empty {
          <li class="none">No swaps yet. Every control message appears here, including those from other clients.</li>
        }
      </ol>
      @if (page.total > limit) {
        <button class="plain" type="button" (click)="chosen.choose(table)">All {{ whole(page.total) }}</button>
      }
    }
  `,
})
export class SwapHistory {
  protected readonly chosen = inject(ChosenTable);
  protected readonly table = MESSAGES;
  protected readonly limit = SHOWN;
  protected readonly whole = whole;
  protected readonly messages = follow(MESSAGES, { limit: SHOWN, newestFirst: true });

  protected readonly entries = computed(() =>
    rowsOf(this.messages.page()).map((row) => {
      const result = textOf(row.result);
      const iso = textOf(row.ts);
      return {
        id: `${row.partition}@${row.offset}`,
        result,
        tone: toneOf(result),
        iso,
        at: moment(iso),
        request: describeRequest(row),
        reason: textOf(row.reason),
      };
    }),
  );
}
