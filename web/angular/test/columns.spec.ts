import { describe, expect, it } from 'vitest';
import { arranged, sameColumns } from '../src/columns';

const columns = (names: string) => [...names].map((name) => ({ name, type: 'int' }));
const order = (now: string, before: string) =>
  arranged(columns(now), [...before])
    .map((column) => column.name)
    .join('');

describe('columns', () => {
  it.each([
    ['abc', '', 'abc', 'first come as they are'],
    ['abc', 'cab', 'cab', 'stay where people moved them'],
    ['ac', 'cab', 'ca', 'that are gone leave no gap'],
    ['abcd', 'cab', 'cdab', 'that are new come after their neighbour'],
    ['xyab', 'ba', 'xyba', 'that are new and first come first'],
    ['xy', 'ab', 'xy', 'may all be others'],
  ])('%s after %s are %s: they %s', (now, before, expected) => {
    expect(order(now, before)).toBe(expected);
  });

  it('are other ones with another type', () => {
    expect(sameColumns(columns('ab'), columns('ab'))).toBe(true);
    expect(sameColumns(columns('ab'), columns('ba'))).toBe(false);
    expect(sameColumns([{ name: 'a', type: 'int' }], [{ name: 'a', type: 'long' }])).toBe(false);
  });
});
