import { describe, expect, it } from 'vitest';
import { asTsv, csvPath } from '../src/export';
import { BARE, directionOf, keyOf, sameQuery, sortedBy, viewOf, without } from '../src/query';

describe('sorting', () => {
  it('is ascending, descending, then none with each click', () => {
    expect(sortedBy([], 'a', false)).toEqual(['a']);
    expect(sortedBy(['a'], 'a', false)).toEqual(['-a']);
    expect(sortedBy(['-a'], 'a', false)).toEqual([]);
    expect(sortedBy(['-b', 'c'], 'a', false)).toEqual(['a']);
  });

  it('keeps the other keys and their order with the shift key', () => {
    expect(sortedBy(['-b'], 'a', true)).toEqual(['-b', 'a']);
    expect(sortedBy(['-b', 'a', 'c'], 'a', true)).toEqual(['-b', '-a', 'c']);
    expect(sortedBy(['-b', '-a', 'c'], 'a', true)).toEqual(['-b', 'c']);
  });

  it('supports a column whose name starts with a minus', () => {
    expect(directionOf(['-x'], '-x').direction).toBe('ascending');
    expect(directionOf(['--x'], '-x').direction).toBe('descending');
    expect(directionOf(['b', '-x'], 'x')).toEqual({ direction: 'descending', rank: 1 });
  });
});

describe('queries', () => {
  it('are the same with and without explicit defaults', () => {
    expect(keyOf({})).toBe(
      keyOf({ columns: null, sort: [], filter: '', offset: 0, limit: 100, newestFirst: false }),
    );
    expect(sameQuery(BARE, { ...BARE, columns: [], filters: ['', ' '] })).toBe(true);
    expect(sameQuery(BARE, { ...BARE, sort: ['a'] })).toBe(false);
  });

  it('drop the parts that name removed columns', () => {
    const query = { ...BARE, columns: ['a', 'b'], sort: ['-a', 'b'], filters: ['a > 1', "b = 'a'"] };
    expect(without(query, ['a'])).toEqual({ ...query, columns: ['b'], sort: ['b'], filters: ["b = 'a'"] });
    expect(viewOf(without(query, ['a', 'b']), 0, 10).columns).toBeNull();
  });
});

describe('export and copy', () => {
  it('exports with the sort and filters', () => {
    const query = { columns: ['a,b', 'c'], sort: ['-c'], filters: ["c = 'ü&?'"], newestFirst: true };
    const address = new URL(csvPath('final ui/x', query), 'http://host/');
    expect(address.pathname).toBe('/api/tables/final%20ui%2Fx.csv');
    expect(address.searchParams.getAll('columns')).toEqual(['a,b', 'c']);
    expect(address.searchParams.getAll('sort')).toEqual(['-c']);
    expect(address.searchParams.get('filter')).toBe("c = 'ü&?'");
    expect(address.searchParams.get('newestFirst')).toBe('true');
    expect(csvPath('t', BARE)).toBe('api/tables/t.csv');
  });

  it('copies one line, whatever it contains', () => {
    expect(asTsv([1, null, 'a\tb', 'say "x"', true])).toBe('1\t\t"a\tb"\t"say ""x"""\ttrue');
  });
});
