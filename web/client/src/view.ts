/** Checks views before they are sent, because the server closes the socket on a malformed one. */

import type { View } from './types.js';

const MAX_BYTES = 60_000; // of a frame of 65,536

/** Returns the view with only the fields of the protocol. */
export function plain({ columns, sort, filter, offset, limit, newestFirst }: View): View {
  return { columns, sort, filter, offset, limit, newestFirst };
}

/** Throws a TypeError that names the invalid field. */
export function check(table: string, view: View): void {
  const { columns, sort, filter, offset, limit, newestFirst } = view;
  assertField(isText(table) && table !== '', 'table', 'a name');
  assertField(columns == null || isNames(columns), 'columns', 'a list of names, or null');
  assertField(sort === undefined || isNames(sort), 'sort', 'a list of names');
  assertField(filter === undefined || isText(filter), 'filter', 'a text');
  assertField(offset === undefined || isCount(offset), 'offset', 'a whole number from 0');
  assertField(limit === undefined || isCount(limit), 'limit', 'a whole number from 0');
  assertField(newestFirst === undefined || typeof newestFirst === 'boolean', 'newestFirst', 'true or false');
  const bytes = new TextEncoder().encode(JSON.stringify([table, plain(view)])).length;
  if (bytes > MAX_BYTES) throw new TypeError(`The view is too long: ${bytes} bytes, at most ${MAX_BYTES}.`);
}

function assertField(isValid: boolean, name: string, what: string): void {
  if (!isValid) throw new TypeError(`${name} must be ${what}.`);
}

/** Whether a value is text that can be encoded: half a surrogate pair cannot. */
function isText(value: unknown): boolean {
  return typeof value === 'string' && !/\p{Surrogate}/u.test(value);
}

function isNames(value: unknown): boolean {
  return Array.isArray(value) && value.every(isText);
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
