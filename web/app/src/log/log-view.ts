import { ChangeDetectionStrategy, Component, computed, signal } from '@angular/core';
import { follow } from '../tables/follow';
import { LOGS } from '../tables/operators';
import { fieldsOf, text } from '../wiring/wiring';
import { moment, whole } from '../words';

const STEP = 200;

const LEVELS: Record<string, { readonly word: string; readonly tone: string }> = {
  INFO: { word: 'info', tone: 'calm' },
  WARN: { word: 'warning', tone: 'warn' },
  ERROR: { word: 'error', tone: 'bad' },
};

const CHOICES = [
  { words: 'Everything', filter: '' },
  { words: 'Warnings and errors', filter: "level in ('WARN', 'ERROR')" },
  { words: 'Errors', filter: "level = 'ERROR'" },
] as const;

/** What the orchestrator says, newest first. */
@Component({
  selector: 'et-log-view',
  changeDetection: ChangeDetectionStrategy.OnPush,
  styleUrl: './log-view.css',
  template: `
    <div class="bar">
      <div role="group" aria-label="Which lines">
        @for (choice of choices; track choice.words) {
          <button type="button" [attr.aria-pressed]="choice.filter === filter()" (click)="look(choice.filter, step)">{{ choice.words }}</button>
        }
      </div>
      <span class="count">{{ counted() }}</span>
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
        <p class="none">{{ filter() ? 'No such lines: all is well.' : 'Nothing was logged yet.' }}</p>
      } @else if (!log.page()) {
        <p class="none" role="status">{{ log.refusal()?.message ?? 'Fetching the log …' }}</p>
      }
      @if (hidden() > 0) {
        <button type="button" class="plain more" (click)="look(filter(), shown() + step)">{{ said(hidden()) }} older lines</button>
      }
    </div>
  `,
})
export class LogView {
  protected readonly choices = CHOICES;
  protected readonly step = STEP;
  protected readonly said = whole;
  protected readonly filter = signal('');
  protected readonly shown = signal(STEP);
  protected readonly log = follow(LOGS, { limit: STEP, newestFirst: true });

  protected readonly lines = computed(() => {
    const page = this.log.page();
    if (!page) return [];
    return fieldsOf(page).map((row, place) => {
      const level = LEVELS[text(row.level)] ?? { word: text(row.level).toLowerCase(), tone: 'calm' };
      const iso = text(row.ts);
      // counted from the oldest, so that a line keeps its element when newer ones come
      return {
        id: page.total - place,
        iso,
        at: moment(iso),
        level: level.word,
        tone: level.tone,
        msg: text(row.msg),
      };
    });
  });
  protected readonly hidden = computed(() =>
    Math.max((this.log.page()?.total ?? 0) - this.lines().length, 0),
  );
  protected readonly counted = computed(() => {
    const total = this.log.page()?.total;
    return total === undefined ? '' : `${whole(total)} ${total === 1 ? 'line' : 'lines'}`;
  });

  protected look(filter: string, lines: number): void {
    this.filter.set(filter);
    this.shown.set(lines);
    this.log.view({ filter, limit: lines, newestFirst: true });
  }
}
