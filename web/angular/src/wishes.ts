import { computed, linkedSignal, type Signal } from '@angular/core';
import type { Column, Refusal } from '@evertable/client';
import type { FilterError } from './filter-box.js';
import { type ColumnFilter, condition, placeIn } from './filters.js';
import { type Query, sortedBy } from './query.js';

/** What an application asks a table for. */
export interface Given {
  readonly name: Signal<string>;
  readonly columns: Signal<readonly string[] | null | undefined>;
  readonly sort: Signal<readonly string[] | null | undefined>;
  readonly filter: Signal<string | null | undefined>;
}

interface Chosen {
  readonly column: Column;
  readonly filter: ColumnFilter;
}

/** What people want to see of a table, on top of what the application asks for. It begins anew with another table. */
export class Wishes {
  readonly sort = linkedSignal<[string, readonly string[]], readonly string[]>({
    source: () => [this.given.name(), this.given.sort() ?? []],
    computation: ([, sort]) => sort,
  });
  readonly typed = linkedSignal({ source: () => this.given.name(), computation: () => '' });
  readonly newestFirst = linkedSignal({ source: () => this.given.name(), computation: () => false });
  private readonly chosen = linkedSignal<string, ReadonlyMap<string, Chosen>>({
    source: () => this.given.name(),
    computation: () => new Map(),
  });

  /** The filters of columns, in the language of filters. */
  readonly chips = computed(() =>
    [...this.chosen().values()].map(({ column, filter }) => ({
      column,
      text: condition(column, filter) ?? '',
    })),
  );
  readonly isFiltered = computed(() => this.filters().some((filter) => filter.trim() !== ''));
  readonly query = computed<Query>(() => ({
    columns: this.given.columns() ?? null,
    sort: this.sort(),
    filters: this.filters(),
    newestFirst: this.newestFirst(),
  }));
  private readonly filters = computed(() => [
    this.typed(),
    this.given.filter() ?? '',
    ...this.chips().map((chip) => chip.text),
  ]);

  constructor(private readonly given: Given) {}

  sortBy(column: string, more: boolean): void {
    this.sort.update((sort) => sortedBy(sort, column, more));
  }

  filterOf(column: string): ColumnFilter | null {
    return this.chosen().get(column)?.filter ?? null;
  }

  filterBy(column: Column, filter: ColumnFilter | null): void {
    const chosen = new Map(this.chosen());
    if (filter) chosen.set(column.name, { column, filter });
    else chosen.delete(column.name);
    this.chosen.set(chosen);
  }

  clearFilters(): void {
    this.typed.set('');
    this.chosen.set(new Map());
  }

  /** What a refusal says about the filter that was typed; null if it is about something else. */
  errorOf(refusal: Refusal | null): FilterError | null {
    if (refusal?.condition !== 'FILTER_INVALID' || !this.typed()) return null;
    const { message, position } = refusal;
    if (position === undefined) return { message, position: null };
    const place = placeIn(this.filters(), position);
    return place?.part === 0 ? { message, position: place.position } : null;
  }
}
