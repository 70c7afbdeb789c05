import type { Refusal } from '@evertable/client';
import type { Operator } from './filters.js';

/** All texts of the library. */
export const TEXTS = {
  first: 'First rows',
  previous: 'Previous rows',
  next: 'Next rows',
  last: 'Last rows',
  goTo: 'Go to row',
  refresh: 'Refresh',
  newestFirst: 'Newest first',
  newest: 'Newest',
  columns: 'Columns',
  showAll: 'Show all',
  copyRow: 'Copy row',
  copy: 'Copy',
  copied: 'Copied.',
  nothingFocused: 'Choose a cell first: click it, or use the arrow keys.',
  notCopied: 'The browser did not allow copying.',
  exportCsv: 'Export CSV',
  csv: 'CSV',
  exporting: 'Exporting…',
  exported: 'The CSV file is in your downloads.',
  notExported: (why: string) => `The export failed: ${why}`,
  filter: 'Filter rows',
  filterExample: "balance > 100 and name contains 'smi'",
  apply: 'Apply',
  clear: 'Clear',
  close: 'Close',
  from: 'from',
  to: 'to',
  value: 'Value',
  values: 'Values, separated by commas',
  condition: 'Condition',
  notANumber: 'Not a number.',
  notAValue: 'Enter a value.',
  filterOf: (column: string) => `Filter ${column}`,
  sortOf: (column: string) => `Sort by ${column}`,
  removeFilter: (filter: string) => `Remove the filter ${filter}`,
  atPosition: (position: number) => `At character ${position + 1}`,
  rows: (first: number, last: number, total: number) =>
    `rows ${count(first)}–${count(last)} of ${count(total)}`,
  noRows: 'no rows',

  connecting: 'Connecting…',
  loading: 'Loading…',
  live: (generation: number) => `Live · generation ${generation}`,
  swapped: (generation: number) => `Swapped to generation ${generation}`,
  stale: 'Stale: no data from the server. These are the last rows.',
  staleFor: (seconds: number) => `Stale for ${seconds} s: no data from the server. These are the last rows.`,
  reconnecting: (attempt: number) => `Reconnecting (attempt ${attempt})…`,
  lastRows: ' These are the last rows.',
  closed: 'Closed.',
  waiting: (table: string) => `${table} is waiting for its first generation. Rows appear when it is live.`,
  refused: (reason: Refusal) => `Refused: ${sentence(reason.message)}${hint(reason.condition)}`,
  cannotShow: (reason: Refusal) => sentence(reason.message),
  missing: (columns: readonly string[]) =>
    columns.length === 1
      ? `A swap removed the column ${columns[0]}: its sort and filter are off.`
      : `A swap removed the columns ${columns.join(', ')}: their sorts and filters are off.`,
  emptyTable: 'No rows yet. They appear here as they arrive.',
  noMatch: 'No row matches the filter.',
  clearFilters: 'Clear the filters',
} as const;

export const OPERATOR_TEXTS: Record<Operator, string> = {
  contains: 'contains',
  notContains: 'does not contain',
  startsWith: 'starts with',
  endsWith: 'ends with',
  equals: 'is',
  notEquals: 'is not',
  less: 'less than',
  atMost: 'at most',
  more: 'more than',
  atLeast: 'at least',
  between: 'between',
  oneOf: 'one of',
  isTrue: 'is true',
  isFalse: 'is false',
  isNull: 'is null',
  isNotNull: 'is not null',
};

const HINTS: Record<string, string> = {
  TOKEN_MISSING: 'Sign in with the token of the server.',
  TOKEN_WRONG: 'Sign in again with the token of the server.',
  ORIGIN_NOT_ALLOWED: 'Add the address of this page to server.origins.',
  HOST_NOT_ALLOWED: 'Open the page as localhost, or give the server a token.',
};

function hint(condition: string): string {
  const next = HINTS[condition];
  return next ? ` ${next}` : '';
}

function sentence(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}

const counts = new Intl.NumberFormat();

function count(rows: number): string {
  return counts.format(rows);
}
