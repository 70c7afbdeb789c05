import { computed, linkedSignal, type Signal } from '@angular/core';
import type { Column, Refusal } from '@evertable/client';
import type { FilterError } from './filter-box.js';
import { type ColumnFilter, condition, placeIn } from './filters.js';
import { type Query, sortedBy } from './query.js';

/** The inputs of a table that the application sets. */
export interface TableInputs {
  readonly name: Signal<string>;
  readonly columns: Signal<readonly string[] | null | undefined>;
  readonly sort: Signal<readonly string[] | null | undefined>;
  readonly filter: Signal<string | null | undefined>;
}

interface FilteredColumn {
  readonly column: Column;
  readonly filter: ColumnFilter;
}

/** The user's sort and filters, on top of the application's. They are reset when the table changes. */
export class ViewSettings {
  readonly sort = linkedSignal<[string, readonly string[]], readonly string[]>({
    source: () => [this.inputs.name(), this.inputs.sort() ?? []],
    computation: ([, sort]) => sort,
  });
  readonly typedFilter = linkedSignal({ source: () => this.inputs.name(), computation: () => '' });
  readonly newestFirst = linkedSignal({ source: () => this.inputs.name(), computation: () => false });
  private readonly filtered = linkedSignal<string, ReadonlyMap<string, FilteredColumn>>({
    source: () => this.inputs.name(),
    computation: () => new Map(),
  });

  /** The filters of columns in the filter language, as chips that can be removed. */
  readonly chips = computed(() =>
    [...this.filtered().values()].map(({ column, filter }) => ({
      column,
      text: condition(column, filter) ?? '',
    })),
  );
  readonly isFiltered = computed(() => this.filters().some((filter) => filter.trim() !== ''));
  readonly query = computed<Query>(() => ({
    columns: this.inputs.columns() ?? null,
    sort: this.sort(),
    filters: this.filters(),
    newestFirst: this.newestFirst(),
  }));
  private readonly filters = computed(() => [
    this.typedFilter(),
    this.inputs.filter() ?? '',
    ...this.chips().map((chip) => chip.text),
  ]);

  constructor(private readonly inputs: TableInputs) {}

  sortBy(column: string, more: boolean): void {
    this.sort.update((sort) => sortedBy(sort, column, more));
  }

  filterOf(column: string): ColumnFilter | null {
    return this.filtered().get(column)?.filter ?? null;
  }

  filterBy(column: Column, filter: ColumnFilter | null): void {
    const filtered = new Map(this.filtered());
    if (filter) filtered.set(column.name, { column, filter });
    else filtered.delete(column.name);
    this.filtered.set(filtered);
  }

  clearFilters(): void {
    this.typedFilter.set('');
    this.filtered.set(new Map());
  }

  /** Returns the error in the typed filter; null if a refusal is about something else. */
  errorOf(refusal: Refusal | null): FilterError | null {
    if (refusal?.condition !== 'FILTER_INVALID' || !this.typedFilter()) return null;
    const { message, position } = refusal;
    if (position === undefined) return { message, position: null };
    const place = placeIn(this.filters(), position);
    return place?.part === 0 ? { message, position: place.position } : null;
  }
}
