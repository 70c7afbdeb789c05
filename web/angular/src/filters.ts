import type { Column } from '@evertable/client';
import { type Kind, kindOf } from './cells.js';

/** The operators of column filters. FILTERS.md describes the filter language. */
export type Operator =
  | 'contains'
  | 'notContains'
  | 'startsWith'
  | 'endsWith'
  | 'equals'
  | 'notEquals'
  | 'less'
  | 'atMost'
  | 'more'
  | 'atLeast'
  | 'between'
  | 'oneOf'
  | 'isTrue'
  | 'isFalse'
  | 'isNull'
  | 'isNotNull';

export interface ColumnFilter {
  readonly operator: Operator;
  readonly value: string;
  /** The upper end of `between`. */
  readonly to: string;
}

const TEXT: Operator[] = ['contains', 'notContains', 'startsWith', 'endsWith'];
const ORDER: Operator[] = ['less', 'atMost', 'more', 'atLeast', 'between'];
const NULLS: Operator[] = ['isNull', 'isNotNull'];

/** The operators for each kind of column, the most common first. */
export const OPERATORS: Record<Kind, readonly Operator[]> = {
  text: [...TEXT, 'equals', 'notEquals', 'oneOf', ...NULLS],
  number: ['equals', 'notEquals', ...ORDER, 'oneOf', ...NULLS],
  boolean: ['isTrue', 'isFalse', ...NULLS],
  date: ['equals', 'notEquals', ...ORDER, ...NULLS],
  time: ['atLeast', 'atMost', 'between', ...NULLS],
  json: [...TEXT, ...NULLS],
};

/** Returns how many values an operator takes. */
export function operandCount(operator: Operator): 0 | 1 | 2 {
  if (operator === 'between') return 2;
  return ['isTrue', 'isFalse', 'isNull', 'isNotNull'].includes(operator) ? 0 : 1;
}

/** Returns a column's filter in the filter language; null if a value is missing or invalid for this column. */
export function condition({ name, type }: Column, { operator, value, to }: ColumnFilter): string | null {
  const column = quoteName(name);
  const kind = kindOf(type);
  const one = literal(kind, value);
  switch (operator) {
    case 'isNull':
      return `${column} is null`;
    case 'isNotNull':
      return `${column} is not null`;
    case 'isTrue':
      return `${column} = true`;
    case 'isFalse':
      return `${column} = false`;
    case 'oneOf': {
      const all = value
        .split(',')
        .map((part) => part.trim())
        .filter(Boolean)
        .map((part) => literal(kind, part));
      return all.length && !all.includes(null) ? `${column} in (${all.join(', ')})` : null;
    }
    case 'between': {
      const other = literal(kind, to);
      return one === null || other === null ? null : `${column} between ${one} and ${other}`;
    }
    default:
      return one === null ? null : `${column} ${SIGNS[operator]} ${one}`;
  }
}

const SIGNS = {
  contains: 'contains',
  notContains: 'not contains',
  startsWith: 'starts with',
  endsWith: 'ends with',
  equals: '=',
  notEquals: '!=',
  less: '<',
  atMost: '<=',
  more: '>',
  atLeast: '>=',
} as const;

const NUMBER = /^[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,6})?$/i;

/** Returns a value as a literal of the filter language; null if it is invalid for that kind. */
function literal(kind: Kind, value: string): string | null {
  const trimmed = value.trim();
  switch (kind) {
    case 'number':
      return NUMBER.test(trimmed) ? trimmed : null;
    case 'date':
      return /^\d{4}-\d\d-\d\d$/.test(trimmed) ? quoteText(trimmed) : null;
    case 'time': {
      // the user picks local time; without a zone the server would take it as UTC
      const moment = new Date(trimmed);
      return trimmed === '' || Number.isNaN(moment.getTime()) ? null : quoteText(moment.toISOString());
    }
    default:
      return value === '' ? null : quoteText(value);
  }
}

export function quoteText(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}

/** Quotes a name always, because it may be a keyword. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/** Combines filters with `and`. */
export function allOf(parts: readonly string[]): string {
  const present = parts.filter((part) => part.trim() !== '');
  return present.length < 2 ? (present[0] ?? '') : present.map((part) => `(${part})`).join(' and ');
}

/** Returns the part and the position in it for a position in `allOf(parts)`; null if it is in none. */
export function placeIn(
  parts: readonly string[],
  position: number,
): { part: number; position: number } | null {
  const isSingle = parts.filter((part) => part.trim() !== '').length < 2;
  let start = 0;
  for (const [at, part] of parts.entries()) {
    if (part.trim() === '') continue;
    const begin = isSingle ? 0 : start + 1;
    if (position >= begin && position <= begin + part.length) return { part: at, position: position - begin };
    start = begin + part.length + ') and '.length;
  }
  return null;
}

const TOKEN = /'(?:[^']|'')*'|"((?:[^"]|"")*)"|[\p{L}_][\p{L}\p{N}_.]*/gu;

/** Whether a filter may name one of these columns; text literals are skipped. */
export function names(filter: string, columns: readonly string[]): boolean {
  for (const [token, quoted] of filter.matchAll(TOKEN)) {
    if (token.startsWith("'")) continue;
    if (columns.includes(quoted === undefined ? token : quoted.replaceAll('""', '"'))) return true;
  }
  return false;
}
