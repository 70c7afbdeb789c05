import {
  ChangeDetectionStrategy,
  Component,
  computed,
  type ElementRef,
  effect,
  input,
  output,
  viewChild,
} from '@angular/core';
import { TEXTS } from './texts.js';

/** Why a filter is invalid, and at which character. */
export interface FilterError {
  readonly message: string;
  readonly position: number | null;
}

/** Takes a filter in the language of FILTERS.md, and shows where it is invalid. */
@Component({
  selector: 'live-filter-box',
  changeDetection: ChangeDetectionStrategy.OnPush,
  template: `
    <form (submit)="submit($event)">
      <input
        #box
        type="search"
        autocomplete="off"
        maxlength="2000"
        spellcheck="false"
        [attr.aria-label]="texts.filter"
        [attr.aria-invalid]="error() ? true : null"
        [attr.aria-describedby]="error() ? id : null"
        [placeholder]="texts.filterExample"
        (search)="apply(box.value)"
        (input)="box.value || apply('')"
      />
      <button type="submit">{{ texts.apply }}</button>
    </form>
    @if (error(); as error) {
      <p class="live-error" role="alert" [id]="id">
        @if (marked(); as marked) {
          <code>{{ marked.before }}<mark>{{ marked.at }}</mark>{{ marked.after }}</code>
          {{ texts.atPosition(marked.before.length) }}:
        }
        {{ error.message }}
      </p>
    }
  `,
})
export class FilterBox {
  readonly value = input.required<string>();
  readonly error = input<FilterError | null>(null);
  readonly applied = output<string>();

  protected readonly texts = TEXTS;
  protected readonly id = `live-filter-error-${serial++}`;
  private readonly box = viewChild.required<ElementRef<HTMLInputElement>>('box');

  /** The filter, split at the invalid character; past its end, a space. */
  protected readonly marked = computed(() => {
    const position = this.error()?.position;
    if (position === null || position === undefined) return null;
    const text = this.value();
    return {
      before: text.slice(0, position),
      at: text.slice(position, position + 1) || ' ',
      after: text.slice(position + 1),
    };
  });

  constructor() {
    effect(() => {
      this.box().nativeElement.value = this.value();
    });
    effect(() => {
      const position = this.error()?.position;
      const box = this.box().nativeElement;
      if (typeof position === 'number' && box.ownerDocument.activeElement === box) {
        box.setSelectionRange(position, position + 1);
      }
    });
  }

  protected submit(event: Event): void {
    event.preventDefault();
    this.apply(this.box().nativeElement.value);
  }

  protected apply(filter: string): void {
    this.applied.emit(filter.trim());
  }
}

let serial = 0;
