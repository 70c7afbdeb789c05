import { describe, expect, it } from 'vitest';
import { arranged, sameColumns, widthsFor } from '../src/columns';

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

  it('are as wide as what they hold, within limits', () => {
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
