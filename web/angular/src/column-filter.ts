import {
  afterNextRender,
  ChangeDetectionStrategy,
  Component,
  computed,
  type ElementRef,
  Injector,
  inject,
  input,
  linkedSignal,
  output,
  viewChild,
} from '@angular/core';
import type { Column } from '@evertable/client';
import { kindOf, withMarks } from './cells.js';
import { type ColumnFilter, condition, OPERATORS, type Operator, operandCount } from './filters.js';
import { OPERATOR_TEXTS, TEXTS } from './texts.js';

const INPUTS = { date: 'date', time: 'datetime-local' } as Record<string, string>;

/** Takes the filter of one column. */
@Component({
  selector: 'live-column-filter',
  changeDetection: ChangeDetectionStrategy.OnPush,
  host: { role: 'dialog', '[attr.aria-label]': 'title()', '(keydown.escape)': 'closed.emit()' },
  template: `
    <form (submit)="submit($event)">
      <strong>{{ name() }}</strong>
      <select #operator [attr.aria-label]="texts.condition" (change)="choose(operator.value)">
        @for (each of operators(); track each) {
          <option [value]="each" [selected]="each === chosen()">{{ operatorTexts[each] }}</option>
        }
      </select>
      @if (count() > 0) {
        <input
          #one
          [type]="inputType()"
          step="1"
          [attr.inputmode]="isNumber() ? 'decimal' : null"
          [value]="filter()?.value ?? ''"
          [attr.aria-label]="count() === 2 ? texts.from : chosen() === 'oneOf' ? texts.values : texts.value"
        />
      }
      @if (count() > 1) {
        <input #two [type]="inputType()" step="1" [value]="filter()?.to ?? ''" [attr.aria-label]="texts.to" />
      }
      <p class="live-error" role="alert">{{ error() }}</p>
      <div class="live-buttons">
        <button type="submit" class="live-primary">{{ texts.apply }}</button>
        <button type="button" (click)="applied.emit(null)">{{ texts.clear }}</button>
        <button type="button" (click)="closed.emit()">{{ texts.close }}</button>
      </div>
    </form>
  `,
})
export class ColumnFilterPanel {
  readonly column = input.required<Column>();
  readonly filter = input<ColumnFilter | null>(null);
  /** A filter, or null for none. */
  readonly applied = output<ColumnFilter | null>();
  readonly closed = output<void>();

  protected readonly texts = TEXTS;
  protected readonly operatorTexts = OPERATOR_TEXTS;
  protected readonly name = computed(() => withMarks(this.column().name));
  protected readonly title = computed(() => TEXTS.filterOf(this.name()));
  protected readonly operators = computed(() => OPERATORS[kindOf(this.column().type)]);
  protected readonly inputType = computed(() => INPUTS[kindOf(this.column().type)] ?? 'text');
  protected readonly isNumber = computed(() => kindOf(this.column().type) === 'number');
  protected readonly chosen = linkedSignal<Operator>(
    () => this.filter()?.operator ?? this.operators()[0] ?? 'isNotNull',
  );
  protected readonly count = computed(() => operandCount(this.chosen()));
  protected readonly error = linkedSignal({ source: this.chosen, computation: () => '' });

  private readonly injector = inject(Injector);
  private readonly select = viewChild.required<ElementRef<HTMLSelectElement>>('operator');
  private readonly one = viewChild<ElementRef<HTMLInputElement>>('one');
  private readonly two = viewChild<ElementRef<HTMLInputElement>>('two');

  constructor() {
    this.focus();
  }

  protected choose(operator: string): void {
    this.chosen.set(operator as Operator);
    this.focus();
  }

  protected submit(event: Event): void {
    event.preventDefault();
    const filter = {
      operator: this.chosen(),
      value: this.one()?.nativeElement.value ?? '',
      to: this.two()?.nativeElement.value ?? '',
    };
    if (condition(this.column(), filter) !== null) this.applied.emit(filter);
    else this.error.set(this.isNumber() ? TEXTS.notANumber : TEXTS.notAValue);
  }

  private focus(): void {
    afterNextRender(() => (this.one() ?? this.select()).nativeElement.focus(), { injector: this.injector });
  }
}
