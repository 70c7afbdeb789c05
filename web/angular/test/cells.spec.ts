import { describe, expect, it } from 'vitest';
import { cellText, cellTitle } from '../src/cells';

const plain = (text: string) => text.replace(/[^\d.-]/g, '');

describe('cells', () => {
  it('keeps all digits of a long', () => {
    expect(plain(cellText('9007199254740993', 'long'))).toBe('9007199254740993');
    expect(plain(cellText('-9223372036854775808', 'long'))).toBe('-9223372036854775808');
    expect(cellText(1234567, 'int')).toBe(new Intl.NumberFormat().format(1234567));
  });

  it('shows all digits of decimals', () => {
    expect(plain(cellText('12345678901234567890.10', 'decimal(22,2)'))).toBe('12345678901234567890.10');
    expect(plain(cellText('100.00', 'decimal(10,2)'))).toBe('100.00');
  });

  it('shows doubles as they were sent', () => {
    expect(plain(cellText(0.1, 'double'))).toBe('0.1');
    expect(cellText(1e-9, 'double')).toBe('1e-9');
    expect(cellText(1.5e300, 'double')).toBe('1.5e+300');
    expect(cellText(0, 'double')).toBe('0');
  });

  it('distinguishes nulls, empty texts and rows that are not loaded', () => {
    expect(cellText(null, 'string')).toBe('null');
    expect(cellText('', 'string')).toBe('');
    expect(cellText(undefined, 'string')).toBe('…');
    expect(cellTitle(null, 'string')).toBe('');
  });

  it('shows times in local time, and in UTC in the tooltip', () => {
    const moment = '2026-11-15T20:07:28.120000Z';
    const local = new Date(moment);
    const shown = cellText(moment, 'timestamp');
    expect(new Date(shown.replace(' ', 'T')).getTime()).toBe(local.getTime());
    expect(shown).toMatch(/^\d{4}-\d\d-\d\d \d\d:\d\d:28\.12$/);
    expect(cellTitle(moment, 'timestamp')).toBe('2026-11-15 20:07:28.12 UTC');
    expect(cellTitle('2026-11-15T20:07:00.000000Z', 'timestamp')).toBe('2026-11-15 20:07:00 UTC');
  });

  it('shows unusual years, and texts that are not times', () => {
    expect(cellText('+012026-06-15T12:00:00.000000Z', 'timestamp')).toMatch(/^12026-06-15 /);
    expect(cellText('-000044-03-15T12:00:00.000000Z', 'timestamp')).toMatch(/^-0044-03-15 /);
    expect(cellText('soon', 'timestamp')).toBe('soon');
  });

  it('marks characters that change the text direction', () => {
    const name = 'invoice\u202egnp.exe\u202c \u2066a\u2069';
    const shown = 'invoice‹U+202E›gnp.exe‹U+202C› ‹U+2066›a‹U+2069›';
    expect(cellText(name, 'string')).toBe(shown);
    expect(cellTitle(name, 'string')).toBe(shown);
    expect(cellText(`{"name":"${name}"}`, 'json')).toBe(`{"name":"${shown}"}`);
    expect(cellTitle('\u202e', 'json')).toBe('‹U+202E›');
    const plain = 'שלום \u200f عربي 👩\u200d👧';
    expect(cellText(plain, 'string')).toBe(plain);
  });

  it('does not change dates, booleans and JSON', () => {
    expect(cellText('2026-11-15', 'date')).toBe('2026-11-15');
    expect(cellText(false, 'boolean')).toBe('false');
    expect(cellText('{"vip": true}', 'json')).toBe('{"vip": true}');
  });
});
