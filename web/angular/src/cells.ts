import type { Value } from '@evertable/client';

/** The kind of a column, for display and filters. */
export type Kind = 'text' | 'number' | 'boolean' | 'date' | 'time' | 'json';

export function kindOf(type: string): Kind {
  if (type.startsWith('decimal')) return 'number';
  switch (type) {
    case 'int':
    case 'long':
    case 'float':
    case 'double':
      return 'number';
    case 'boolean':
    case 'date':
    case 'json':
      return type;
    case 'timestamp':
      return 'time';
    default:
      return 'text';
  }
}

// embeddings, overrides and isolates: they make `exe.gnp` look like `png.exe`, and affect the text that follows
const DIRECTION_CONTROLS = /[\u202a-\u202e\u2066-\u2069]/g;

/** Replaces invisible characters that change the text direction by marks such as `‹U+202E›`. */
export function withMarks(text: string): string {
  return text.replace(DIRECTION_CONTROLS, (found) => `‹U+${found.charCodeAt(0).toString(16).toUpperCase()}›`);
}

/** Returns the text of a cell. `undefined` means that its row is not loaded. */
export function cellText(value: Value | undefined, type: string): string {
  if (value === undefined) return '…';
  if (value === null) return 'null';
  switch (kindOf(type)) {
    case 'number':
      return numberText(value);
    case 'time':
      return localTime(String(value));
    default:
      return withMarks(String(value));
  }
}

/** Returns the tooltip of a cell: a time in UTC, or the text that may be cut off. */
export function cellTitle(value: Value | undefined, type: string): string {
  if (value === undefined || value === null) return '';
  switch (kindOf(type)) {
    case 'time':
      return `${String(value)
        .replace('T', ' ')
        .replace(/\.?0*Z$/, '')} UTC`;
    case 'number':
      return numberText(value);
    default:
      return withMarks(String(value));
  }
}

const NUMERAL = /^-?\d+(\.\d+)?$/;
const formats = new Map<number, Intl.NumberFormat>();

/** Groups digits as the locale does, and keeps all of them: longs and decimals are never converted to a double. */
function numberText(value: Value): string {
  const digits = String(value);
  if (!NUMERAL.test(digits)) return digits;
  const decimals = digits.includes('.') ? digits.length - digits.indexOf('.') - 1 : 0;
  if (decimals > 20) return digits;
  let format = formats.get(decimals);
  if (!format) {
    format = new Intl.NumberFormat(undefined, {
      minimumFractionDigits: decimals,
      maximumFractionDigits: decimals,
    });
    formats.set(decimals, format);
  }
  // since ES2023 a string is allowed and keeps all digits; TypeScript's ES2022 types do not know it
  return format.format(digits as unknown as bigint);
}

const TIME = /^(.*T\d\d:\d\d:\d\d)(?:\.(\d+))?Z$/;
const two = (part: number) => String(part).padStart(2, '0');

/** Returns `2026-11-15T20:07:28.120000Z` as `2026-11-15 21:07:28.12` in UTC+1. */
function localTime(moment: string): string {
  const parts = TIME.exec(moment);
  const time = parts ? new Date(`${parts[1]}Z`) : null;
  if (!parts || !time || Number.isNaN(time.getTime())) return moment;
  const fraction = (parts[2] ?? '').replace(/0+$/, '');
  const date = `${yearText(time.getFullYear())}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
  const clock = `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}`;
  return `${date} ${clock}${fraction && `.${fraction}`}`;
}

function yearText(year: number): string {
  const digits = String(Math.abs(year)).padStart(4, '0');
  return year < 0 ? `-${digits}` : digits;
}
