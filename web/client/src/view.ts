/** Views are checked before they are sent: to one that is ill-typed the server would close the socket for all. */

import type { View } from './types.js';

const MAX_BYTES = 60_000; // of a frame of 65,536

/** The view as it is sent: nothing but what the protocol knows. */
export function plain({ columns, sort, filter, offset, limit, newestFirst }: View): View {
  return { columns, sort, filter, offset, limit, newestFirst };
}

/** Throws a TypeError that names what is wrong. */
export function check(table: string, view: View): void {
  const { columns, sort, filter, offset, limit, newestFirst } = view;
  must(isText(table) && table !== '', 'table', 'a name');
  must(columns == null || isNames(columns), 'columns', 'a list of names, or null');
  must(sort === undefined || isNames(sort), 'sort', 'a list of names');
  must(filter === undefined || isText(filter), 'filter', 'a text');
  must(offset === undefined || isCount(offset), 'offset', 'a whole number from 0');
  must(limit === undefined || isCount(limit), 'limit', 'a whole number from 0');
  must(newestFirst === undefined || typeof newestFirst === 'boolean', 'newestFirst', 'true or false');
  const bytes = new TextEncoder().encode(JSON.stringify([table, plain(view)])).length;
  if (bytes > MAX_BYTES) throw new TypeError(`The view is too long to be sent: ${bytes} bytes.`);
}

function must(holds: boolean, name: string, what: string): void {
  if (!holds) throw new TypeError(`${name} is not ${what}.`);
}

/** Half a surrogate pair cannot be sent. */
function isText(value: unknown): boolean {
  return typeof value === 'string' && !/\p{Surrogate}/u.test(value);
}

function isNames(value: unknown): boolean {
  return Array.isArray(value) && value.every(isText);
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
