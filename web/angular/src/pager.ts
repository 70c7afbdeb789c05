import { ChangeDetectionStrategy, Component, computed, input, output } from '@angular/core';
import type { RowRange } from './row-window.js';
import { TEXTS } from './texts.js';

/** Shows which rows are on screen, and goes to others. */
@Component({
  selector: 'live-pager',
  changeDetection: ChangeDetectionStrategy.OnPush,
  host: { role: 'group', 'aria-label': 'Rows' },
  template: `
    <span class="live-range">{{ range() }}</span>
    <form (submit)="submit($event, row)">
      <input #row type="text" inputmode="numeric" autocomplete="off" [attr.aria-label]="texts.goTo" [placeholder]="texts.goTo" />
    </form>
    <button type="button" [title]="texts.first" [attr.aria-label]="texts.first" [disabled]="isAtStart()" (click)="goTo.emit(0)">«</button>
    <button type="button" [title]="texts.previous" [attr.aria-label]="texts.previous" [disabled]="isAtStart()" (click)="goTo.emit(first() - step())">‹</button>
    <button type="button" [title]="texts.next" [attr.aria-label]="texts.next" [disabled]="isAtEnd()" (click)="goTo.emit(first() + step())">›</button>
    <button type="button" [title]="texts.last" [attr.aria-label]="texts.last" [disabled]="isAtEnd()" (click)="goTo.emit((total() ?? 0) - 1)">»</button>
  `,
})
export class Pager {
  /** Rows on screen, from 0. */
  readonly visibleRows = input.required<RowRange | null>();
  /** Null until it is known. */
  readonly total = input.required<number | null>();
  /** A row, from 0; it may be outside of the table. */
  readonly goTo = output<number>();

  protected readonly texts = TEXTS;
  protected readonly first = computed(() => this.visibleRows()?.first ?? 0);
  /** One screen, so that no row is skipped. */
  protected readonly step = computed(() => (this.visibleRows()?.last ?? 0) - this.first() + 1);
  protected readonly isAtStart = computed(() => this.first() === 0);
  protected readonly isAtEnd = computed(() => (this.visibleRows()?.last ?? 0) >= (this.total() ?? 0) - 1);
  protected readonly range = computed(() => {
    const visible = this.visibleRows();
    const total = this.total();
    if (total === null) return '';
    return visible ? TEXTS.rows(visible.first + 1, visible.last + 1, total) : TEXTS.noRows;
  });

  protected submit(event: Event, box: HTMLInputElement): void {
    event.preventDefault();
    const row = Number(box.value.replace(/[\s,._']/g, ''));
    if (box.value && Number.isInteger(row)) this.goTo.emit(row - 1);
    box.value = '';
  }
}
