import type { View } from '@evertable/client';
import { allOf, names } from './filters.js';

/** Which rows and columns people want to see, and in which order: a view without its place. */
export interface Query {
  readonly columns: readonly string[] | null;
  readonly sort: readonly string[];
  /** All of them must hold. */
  readonly filters: readonly string[];
  readonly newestFirst: boolean;
}

/** Everything, as it comes. */
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

/** What tells views apart, whether or not defaults are said. */
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

/** The same without what names columns that are gone: the server would refuse to look at it from elsewhere. */
export function without(query: Query, gone: readonly string[]): Query {
  return {
    ...query,
    columns: query.columns?.filter((name) => !gone.includes(name)) ?? null,
    sort: query.sort.filter((key) => !gone.includes(key) && !gone.includes(key.replace(/^-/, ''))),
    filters: query.filters.filter((filter) => !names(filter, gone)),
  };
}

export type Direction = 'ascending' | 'descending' | 'none';

/** How a column is sorted, and which of the keys it is, from 0. */
export function directionOf(sort: readonly string[], column: string): { direction: Direction; rank: number } {
  const up = sort.indexOf(column);
  if (up >= 0) return { direction: 'ascending', rank: up };
  const down = sort.indexOf(`-${column}`);
  return { direction: down >= 0 ? 'descending' : 'none', rank: down };
}

/** A click on a column: ascending, descending, as it comes. `more`: the other keys stay. */
export function sortedBy(sort: readonly string[], column: string, more: boolean): readonly string[] {
  const { direction, rank } = directionOf(sort, column);
  const next = direction === 'none' ? [column] : direction === 'ascending' ? [`-${column}`] : [];
  if (!more) return next;
  return rank < 0 ? [...sort, ...next] : [...sort.slice(0, rank), ...next, ...sort.slice(rank + 1)];
}
