import type { View } from '@evertable/client';
import { allOf, names } from './filters.js';

/** Which rows and columns to show, in which order: a view without offset and limit. */
export interface Query {
  readonly columns: readonly string[] | null;
  readonly sort: readonly string[];
  /** Combined with `and`. */
  readonly filters: readonly string[];
  readonly newestFirst: boolean;
}

/** All rows and columns in the table's order. */
export const BARE: Query = { columns: null, sort: [], filters: [], newestFirst: false };

export function viewOf(query: Query, offset: number, limit: number): View {
  return {
    columns: query.columns?.length ? query.columns : null,
    sort: query.sort,
    filter: allOf(query.filters),
    newestFirst: query.newestFirst,
    offset,
    limit,
  };
}

/** Returns a key that is equal for equal views, with or without explicit defaults. */
export function keyOf({ columns, sort, filter, newestFirst, offset, limit }: View): string {
  return JSON.stringify([
    columns ?? null,
    sort ?? [],
    filter ?? '',
    newestFirst ?? false,
    offset ?? 0,
    limit ?? 100,
  ]);
}

export function sameQuery(one: Query, other: Query): boolean {
  return keyOf(viewOf(one, 0, 0)) === keyOf(viewOf(other, 0, 0));
}

/** Returns the query without the parts that name removed columns, which the server would refuse. */
export function without(query: Query, removed: readonly string[]): Query {
  return {
    ...query,
    columns: query.columns?.filter((name) => !removed.includes(name)) ?? null,
    sort: query.sort.filter((key) => !removed.includes(key) && !removed.includes(key.replace(/^-/, ''))),
    filters: query.filters.filter((filter) => !names(filter, removed)),
  };
}

export type Direction = 'ascending' | 'descending' | 'none';

/** Returns how a column is sorted, and the rank of its sort key, from 0. */
export function directionOf(sort: readonly string[], column: string): { direction: Direction; rank: number } {
  const up = sort.indexOf(column);
  if (up >= 0) return { direction: 'ascending', rank: up };
  const down = sort.indexOf(`-${column}`);
  return { direction: down >= 0 ? 'descending' : 'none', rank: down };
}

/** Returns the sort after a click on a column: ascending, descending, none. With `more`, the other keys stay. */
export function sortedBy(sort: readonly string[], column: string, more: boolean): readonly string[] {
  const { direction, rank } = directionOf(sort, column);
  const next = direction === 'none' ? [column] : direction === 'ascending' ? [`-${column}`] : [];
  if (!more) return next;
  return rank < 0 ? [...sort, ...next] : [...sort.slice(0, rank), ...next, ...sort.slice(rank + 1)];
}
