import type { Page } from '@evertable/client';
import { asked, fieldsOf, said, text, wiringOf } from './wiring';

describe('a wiring', () => {
  it('is read from the columns, whatever the sources are called', () => {
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
    expect(said(wiring)).toBe('orders, left join with lines');
  });

  it('is not said while it is not known', () => {
    expect(said(wiringOf({ usersTopic: null, accountsTopic: null, joinType: null }))).toBe('');
  });

  it('is asked for in parts', () => {
    expect(asked({ usersTopic: 'users_v2', accountsTopic: null, joinType: '' })).toBe('users from users_v2');
    expect(asked({ usersTopic: null, accountsTopic: null, joinType: 'inner' })).toBe('inner join');
    expect(asked({ usersTopic: null, accountsTopic: null, joinType: null })).toBe('nothing that can be read');
  });

  it('cannot turn the direction of the page', () => {
    expect(asked({ usersTopic: 'users\u202e2v', joinType: '' })).toBe('users from users‹U+202E›2v');
    expect(text('\u2067why')).toBe('‹U+2067›why');
  });

  it('comes as rows of a page', () => {
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
    expect(fieldsOf(page)).toEqual([
      { a: 'x', b: 1 },
      { a: null, b: 2 },
    ]);
  });
});
