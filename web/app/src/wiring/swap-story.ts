import { ChangeDetectionStrategy, Component, computed, inject } from '@angular/core';
import { ChosenTable } from '../tables/chosen-table';
import { follow } from '../tables/follow';
import { MESSAGES } from '../tables/operators';
import { moment, whole } from '../words';
import { toneOf } from './fate';
import { asked, fieldsOf, text } from './wiring';

const SHOWN = 8;

/** What was asked for lately and what became of it, newest first. */
@Component({
  selector: 'et-swap-story',
  changeDetection: ChangeDetectionStrategy.OnPush,
  styleUrl: './swap-story.css',
  template: `
    @if (tellings(); as all) {
      <ol>
        @for (one of all; track one.id) {
          <li>
            <span class="pill" [attr.data-tone]="one.tone">{{ one.result }}</span>
            <time [attr.datetime]="one.iso">{{ one.at }}</time>
            <span class="what">{{ one.what }}</span>
            @if (one.why) {
              <span class="why">{{ one.why }}</span>
            }
          </li>
        } @empty {
          <li class="none">Nobody has swapped yet. Every control message shows here, also those of others.</li>
        }
      </ol>
      @if (more()) {
        <button class="plain" type="button" (click)="chosen.choose(table)">All {{ total() }}</button>
      }
    }
  `,
})
export class SwapStory {
  protected readonly chosen = inject(ChosenTable);
  protected readonly table = MESSAGES;
  private readonly messages = follow(MESSAGES, { limit: SHOWN, newestFirst: true });

  protected readonly tellings = computed(() => {
    const page = this.messages.page();
    if (!page) return null;
    return fieldsOf(page).map((row) => {
      const result = text(row.result);
      const iso = text(row.ts);
      return {
        id: `${row.partition}@${row.offset}`,
        result,
        tone: toneOf(result),
        iso,
        at: moment(iso),
        what: asked(row),
        why: text(row.reason),
      };
    });
  });
  protected readonly more = computed(() => (this.messages.page()?.total ?? 0) > SHOWN);
  protected readonly total = computed(() => whole(this.messages.page()?.total ?? 0));
}
