import { describe, expect, it } from 'vitest';
import { inOrder, sameColumns, widthsFor } from '../src/columns';

const columns = (names: string) => [...names].map((name) => ({ name, type: 'int' }));
const order = (now: string, before: string) =>
  inOrder(columns(now), [...before])
    .map((column) => column.name)
    .join('');

describe('columns', () => {
  it.each([
    ['abc', '', 'abc', 'keep their order at first'],
    ['abc', 'cab', 'cab', 'stay where the user moved them'],
    ['ac', 'cab', 'ca', 'leave no gap when they are gone'],
    ['abcd', 'cab', 'cdab', 'follow their neighbour if they are new'],
    ['xyab', 'ba', 'xyba', 'come first if they are new and first'],
    ['xy', 'ab', 'xy', 'may all be different'],
  ])('%s after %s are %s: they %s', (now, before, expected) => {
    expect(order(now, before)).toBe(expected);
  });

  it('differ if their type differs', () => {
    expect(sameColumns(columns('ab'), columns('ab'))).toBe(true);
    expect(sameColumns(columns('ab'), columns('ba'))).toBe(false);
    expect(sameColumns([{ name: 'a', type: 'int' }], [{ name: 'a', type: 'long' }])).toBe(false);
  });

  it('are as wide as their values, within limits', () => {
    const page = {
      columns: [
        { name: 'a', type: 'int' },
        { name: 'email', type: 'string' },
        { name: 'text', type: 'string' },
        { name: 'aNameThatIsLong', type: 'int' },
      ],
      rows: [[1, 'someone@bank.example', 'x'.repeat(9000), null]],
    };
    const widths = [...widthsFor(page).values()];
    expect(widths).toEqual([80, 24 + 20 * 8, 340, 56 + 15 * 8]);
    expect([...widthsFor({ ...page, rows: [] }).keys()]).toEqual(['a', 'email', 'text', 'aNameThatIsLong']);
  });
});
