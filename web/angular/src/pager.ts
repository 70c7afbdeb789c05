import { ChangeDetectionStrategy, Component, computed, input, output } from '@angular/core';
import { TEXTS } from './texts.js';

/** Says which rows are on screen, and goes to others. */
@Component({
  selector: 'live-pager',
  changeDetection: ChangeDetectionStrategy.OnPush,
  host: { role: 'group', 'aria-label': 'Rows' },
  template: `
    <span class="live-range">{{ range() }}</span>
    <form (submit)="submit($event, row)">
      <input #row type="text" inputmode="numeric" autocomplete="off" [attr.aria-label]="texts.goTo" [placeholder]="texts.goTo" />
    </form>
    <button type="button" [title]="texts.first" [attr.aria-label]="texts.first" [disabled]="atStart()" (click)="goTo.emit(0)">«</button>
    <button type="button" [title]="texts.previous" [attr.aria-label]="texts.previous" [disabled]="atStart()" (click)="goTo.emit(first() - step())">‹</button>
    <button type="button" [title]="texts.next" [attr.aria-label]="texts.next" [disabled]="atEnd()" (click)="goTo.emit(first() + step())">›</button>
    <button type="button" [title]="texts.last" [attr.aria-label]="texts.last" [disabled]="atEnd()" (click)="goTo.emit((total() ?? 0) - 1)">»</button>
  `,
})
export class Pager {
  /** Rows on screen, from 0. */
  readonly seen = input.required<{ first: number; last: number } | null>();
  /** Null while it is not known. */
  readonly total = input.required<number | null>();
  /** A row, from 0; it may be beyond the table's ends. */
  readonly goTo = output<number>();

  protected readonly texts = TEXTS;
  protected readonly first = computed(() => this.seen()?.first ?? 0);
  /** A screenful, so that no row is passed over. */
  protected readonly step = computed(() => (this.seen()?.last ?? 0) - this.first() + 1);
  protected readonly atStart = computed(() => this.first() === 0);
  protected readonly atEnd = computed(() => (this.seen()?.last ?? 0) >= (this.total() ?? 0) - 1);
  protected readonly range = computed(() => {
    const seen = this.seen();
    const total = this.total();
    if (total === null) return '';
    return seen ? TEXTS.rows(seen.first + 1, seen.last + 1, total) : TEXTS.noRows;
  });

  protected submit(event: Event, box: HTMLInputElement): void {
    event.preventDefault();
    const row = Number(box.value.replace(/[\s,._']/g, ''));
    if (box.value && Number.isInteger(row)) this.goTo.emit(row - 1);
    box.value = '';
  }
}
