import type { Value } from '@evertable/client';

/** What kind of thing a column holds, as far as showing and filtering go. */
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

// Embeddings, overrides and isolates: they make `exe.gnp` look like `png.exe`, and spill into what follows.
const DIRECTIONS = /[\u202a-\u202e\u2066-\u2069]/g;

/** Replaces characters that change the direction of writing by marks that people see: `‹U+202E›`. */
export function withMarks(text: string): string {
  return text.replace(DIRECTIONS, (found) => `‹U+${found.charCodeAt(0).toString(16).toUpperCase()}›`);
}

/** Shows a value to people. `undefined` is a row that has not come yet. */
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

/** What is told on hovering: the moment in UTC, or the whole of what may be cut off. */
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

/** Grouped as people here do, with every digit that came: longs and decimals never pass through a double. */
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
  // Since 2023 digits may come as a string, which keeps them all; TypeScript's ES2022 does not know it.
  return format.format(digits as unknown as bigint);
}

const TIME = /^(.*T\d\d:\d\d:\d\d)(?:\.(\d+))?Z$/;
const two = (part: number) => String(part).padStart(2, '0');

/** `2026-11-15T20:07:28.120000Z` as `2026-11-15 21:07:28.12`, one hour east of Greenwich. */
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
