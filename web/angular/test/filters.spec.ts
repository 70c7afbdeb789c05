import { describe, expect, it } from 'vitest';
import { allOf, type ColumnFilter, condition, names, OPERATORS, operandCount, placeIn } from '../src/filters';

const ask = (name: string, type: string, operator: ColumnFilter['operator'], value = '', to = '') =>
  condition({ name, type }, { operator, value, to });

describe('condition', () => {
  it.each([
    ['contains', 'SMITH', `"name" contains 'SMITH'`],
    ['notContains', 'a', `"name" not contains 'a'`],
    ['startsWith', ' a', `"name" starts with ' a'`],
    ['endsWith', 'ß', `"name" ends with 'ß'`],
    ['equals', "O'Hara", `"name" = 'O''Hara'`],
    ['notEquals', '日本 "x"', `"name" != '日本 "x"'`],
    ['oneOf', "chq, sav ,o'x,", `"name" in ('chq', 'sav', 'o''x')`],
    ['isNull', '', '"name" is null'],
    ['isNotNull', '', '"name" is not null'],
  ] as const)('text %s %j is %s', (operator, value, expected) => {
    expect(ask('name', 'string', operator, value)).toBe(expected);
  });

  it('writes numbers as typed, so that no digit is lost', () => {
    expect(ask('id', 'long', 'equals', ' 9007199254740993 ')).toBe('"id" = 9007199254740993');
    expect(ask('b', 'double', 'between', '-1.5', '1e3')).toBe('"b" between -1.5 and 1e3');
    expect(ask('b', 'decimal(10,2)', 'atMost', '.5')).toBe('"b" <= .5');
    expect(ask('b', 'int', 'oneOf', '1,2, 3')).toBe('"b" in (1, 2, 3)');
  });

  it.each(['', 'x', '1 2', '1; drop', '0x1', 'NaN', "1' or '1", '1e9999999'])(
    'takes no %j for a number',
    (value) => {
      expect(ask('b', 'double', 'more', value)).toBeNull();
      expect(ask('b', 'double', 'oneOf', `1,${value || 'x'}`)).toBeNull();
    },
  );

  it('quotes every name of a column', () => {
    expect(ask('in', 'int', 'isNull')).toBe('"in" is null');
    expect(ask('a "b" c', 'int', 'less', '1')).toBe('"a ""b"" c" < 1');
    expect(ask("Größe (m²) 'x' -- y", 'int', 'more', '1')).toBe(`"Größe (m²) 'x' -- y" > 1`);
  });

  it('writes local times in UTC', () => {
    const local = '2026-11-15T20:07:28';
    expect(ask('seen', 'timestamp', 'atLeast', local)).toBe(`"seen" >= '${new Date(local).toISOString()}'`);
    expect(ask('seen', 'timestamp', 'between', local, '')).toBeNull();
    expect(ask('born', 'date', 'less', '2000-01-01')).toBe(`"born" < '2000-01-01'`);
    expect(ask('born', 'date', 'less', 'yesterday')).toBeNull();
  });

  it('filters booleans', () => {
    expect(ask('active', 'boolean', 'isTrue')).toBe('"active" = true');
    expect(ask('active', 'boolean', 'isFalse')).toBe('"active" = false');
  });

  it('supports every operator of every kind', () => {
    const values = {
      text: 'a',
      number: '1',
      boolean: '',
      date: '2026-01-01',
      time: '2026-01-01T00:00',
      json: 'a',
    };
    const types = {
      text: 'string',
      number: 'int',
      boolean: 'boolean',
      date: 'date',
      time: 'timestamp',
      json: 'json',
    };
    for (const kind of Object.keys(OPERATORS) as (keyof typeof types)[]) {
      for (const operator of OPERATORS[kind]) {
        expect(ask('c', types[kind], operator, values[kind], values[kind])).toMatch(/^"c" /);
        if (operandCount(operator) > 0) expect(ask('c', types[kind], operator)).toBeNull();
      }
    }
  });
});

describe('combined filters', () => {
  it('are joined with and, each in parentheses', () => {
    expect(allOf(['', ' '])).toBe('');
    expect(allOf(['', 'a = 1 or b = 2'])).toBe('a = 1 or b = 2');
    expect(allOf(['a = 1 or b = 2', '', 'c = 3'])).toBe('(a = 1 or b = 2) and (c = 3)');
  });

  it('locate an error', () => {
    expect(placeIn(['balance >', ''], 9)).toEqual({ part: 0, position: 9 });
    const parts = ['balance >', '', 'x = 1', 'y'];
    const text = allOf(parts);
    expect(placeIn(parts, 10)).toEqual({ part: 0, position: 9 });
    expect(placeIn(parts, text.indexOf('x = 1') + 4)).toEqual({ part: 2, position: 4 });
    expect(placeIn(parts, text.indexOf('y'))).toEqual({ part: 3, position: 0 });
    expect(placeIn(parts, 0)).toBeNull();
  });

  it('report which columns they name', () => {
    expect(names("name = 'balance'", ['balance'])).toBe(false);
    expect(names("name = 'it''s balance' or balance > 1", ['balance'])).toBe(true);
    expect(names('"odd ""name""" is null', ['odd "name"'])).toBe(true);
    expect(names('balances > 1', ['balance'])).toBe(false);
    expect(names('größe > 1', ['größe'])).toBe(true);
  });
});
