import type { Page } from '@evertable/client';
import { rowsOf, textOf } from '../tables/follow';
import { describeRequest, describeWiring, wiringOf } from './wiring';

describe('a wiring', () => {
  it('is read from the columns, with any names of sources', () => {
    const wiring = wiringOf({
      ordersTopic: 'orders',
      order_linesTopic: 'lines',
      joinType: 'left',
      generation: 1,
    });
    expect(wiring.topics.map(({ source, key }) => [source, key])).toEqual([
      ['orders', 'ordersTopic'],
      ['order_lines', 'order_linesTopic'],
    ]);
    expect(describeWiring(wiring)).toBe('orders, left join with lines');
  });

  it('is described only when it is known', () => {
    expect(describeWiring(wiringOf({ usersTopic: null, accountsTopic: null, joinType: null }))).toBe('');
  });

  it('is requested in parts', () => {
    expect(describeRequest({ usersTopic: 'users_v2', accountsTopic: null, joinType: '' })).toBe(
      'users from users_v2',
    );
    expect(describeRequest({ usersTopic: null, accountsTopic: null, joinType: 'inner' })).toBe('inner join');
    expect(describeRequest({ usersTopic: null, accountsTopic: null, joinType: null })).toBe(
      'nothing readable',
    );
  });

  it('marks direction overrides', () => {
    expect(describeRequest({ usersTopic: 'users\u202e2v', joinType: '' })).toBe('users from users‹U+202E›2v');
    expect(textOf('\u2067why')).toBe('‹U+2067›why');
  });

  it('is read from the rows of a page', () => {
    const page = {
      columns: [
        { name: 'a', type: 'string' },
        { name: 'b', type: 'long' },
      ],
      rows: [
        ['x', 1],
        [null, 2],
      ],
    } as unknown as Page;
    expect(rowsOf(page)).toEqual([
      { a: 'x', b: 1 },
      { a: null, b: 2 },
    ]);
  });
});
