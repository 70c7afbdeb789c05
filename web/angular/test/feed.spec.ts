import type { Change, Page, Refusal } from '@evertable/client';
import { beforeEach, describe, expect, it } from 'vitest';
import { Feed } from '../src/feed';
import { BARE, type Query } from '../src/query';
import { FakeSubscription } from '../src/testing';

const columns = [{ name: 'n', type: 'int' }];
const rows = (from: number, count: number) => Array.from({ length: count }, (_, at) => [from + at]);
const bad: Refusal = { condition: 'FILTER_INVALID', message: 'no', position: 0 };

let subscription: FakeSubscription;
let visible: { first: number; last: number } | null;
let shown: { page: Page; change: Change; startRow: number | null }[];
let refusals: (Refusal | null)[];
let missing: readonly string[];

function feed(query: Query = BARE, start = 0): Feed {
  return new Feed(
    (view, viewer) => {
      subscription = new FakeSubscription('t', view, viewer);
      return subscription;
    },
    {
      show: (page, change, startRow) => shown.push({ page, change, startRow }),
      visibleRows: () => visible,
      refused: (reason) => refusals.push(reason),
      missing: (names) => {
        missing = names;
      },
      waiting: () => {},
    },
    query,
    100,
    start,
  );
}

/** Answers the last view out of a table with this many rows. */
function answer(total: number, more: Partial<Page> = {}): void {
  const { offset = 0, limit = 100 } = subscription.current;
  subscription.send({
    columns,
    rows: rows(offset, Math.max(0, Math.min(limit, total - offset))),
    total,
    ...more,
  });
}

beforeEach(() => {
  visible = { first: 0, last: 19 };
  shown = [];
  refusals = [];
  missing = [];
});

describe('a feed', () => {
  it('starts at the given row', () => {
    feed(BARE, 500);
    expect(subscription.current).toMatchObject({ offset: 500, limit: 100 });
    visible = null;
    answer(1000);
    expect(shown.at(-1)?.startRow).toBe(500);
  });

  it('requests one window at a time, then the newest one', () => {
    const current = feed();
    answer(10_000);
    visible = { first: 2000, last: 2019 };
    current.follow();
    visible = { first: 5000, last: 5019 };
    current.follow();
    expect(subscription.views.map((view) => view.offset)).toEqual([0, 1960]);
    answer(10_000);
    expect(subscription.current.offset).toBe(4960);
  });

  it('shows a page that arrives while the user scrolls', () => {
    const current = feed();
    answer(10_000);
    visible = { first: 2000, last: 2019 };
    current.follow();
    answer(10_000);
    expect(shown.at(-1)?.page.offset).toBe(1960);
    expect(shown.at(-1)?.startRow).toBeNull();
  });

  it('keeps the rows until those of another order arrive, and starts at the first', () => {
    const current = feed();
    answer(10_000);
    visible = { first: 2000, last: 2019 };
    current.follow();
    answer(10_000);
    current.setQuery({ ...BARE, sort: ['n'] });
    expect(subscription.current).toMatchObject({ sort: ['n'], offset: 0 });
    const before = subscription.views.at(-2);
    subscription.send({ columns, rows: rows(1960, 100), total: 10_000, offset: 1960, view: before });
    expect(shown.at(-1)?.startRow).toBeNull();
    answer(10_000);
    expect(shown.at(-1)).toMatchObject({ startRow: 0, page: { offset: 0 } });
  });

  it('defers a page that would blank the screen until the rows are there', () => {
    const current = feed();
    answer(10_000);
    visible = { first: 2000, last: 2019 };
    current.follow();
    answer(10_000);
    const count = shown.length;
    answer(50, { generation: 2 });
    expect(shown.length).toBe(count);
    expect(subscription.current.offset).toBe(0);
    answer(50, { generation: 2 });
    expect(shown.at(-1)).toMatchObject({ page: { total: 50 }, change: { kind: 'page', swapped: true } });
  });

  it('shows at once that a table is empty', () => {
    feed();
    answer(1000);
    answer(0, { generation: 2 });
    expect(shown.at(-1)?.page.total).toBe(0);
  });
});

describe('a feed that is refused', () => {
  it.each(['QUERY_TIMEOUT', 'TOO_MANY_QUERIES', 'TOO_MANY_VIEWS'])(
    'continues with the last query after %s',
    (condition) => {
      const current = feed({ ...BARE, sort: ['n'] });
      answer(1000);
      current.setQuery({ ...BARE, filters: ['n > 1'] });
      subscription.refuse({ condition, message: 'no' });
      expect(refusals.at(-1)).toMatchObject({ condition });
      expect(subscription.current).toMatchObject({ sort: ['n'], filter: '' });
    },
  );

  it('continues with the last query, and shows the reason until another query is set', () => {
    const current = feed({ ...BARE, sort: ['n'] });
    answer(1000);
    current.setQuery({ ...BARE, sort: ['n'], filters: ['n >'] });
    subscription.refuse(bad);
    expect(refusals.at(-1)).toBe(bad);
    expect(subscription.current).toMatchObject({ sort: ['n'], filter: '' });
    answer(1000);
    expect(refusals.at(-1)).toBe(bad);
    current.setQuery({ ...BARE, filters: ['n > 1'] });
    answer(10);
    expect(refusals.at(-1)).toBeNull();
  });

  it('shows the bare table if that is refused, too, and retries after a swap', () => {
    feed({ ...BARE, sort: ['n'] });
    answer(1000);
    subscription.refuse({ condition: 'COLUMN_NOT_FOUND', message: 'gone' });
    expect(subscription.current.sort).toEqual([]);
    answer(1000, { generation: 2 });
    expect(subscription.current.sort).toEqual(['n']);
    answer(1000, { generation: 2 });
    expect(refusals.at(-1)).toBeNull();
  });

  it('stays at the rows on screen', () => {
    const current = feed();
    answer(10_000);
    visible = { first: 2000, last: 2019 };
    current.follow();
    answer(10_000);
    current.setQuery({ ...BARE, filters: ['n >'] });
    subscription.refuse(bad);
    expect(subscription.current).toMatchObject({ offset: 1960, filter: '' });
    answer(10_000);
    expect(shown.at(-1)?.startRow).toBeNull();
  });

  it('tries no other view if the refusal is not about the view', () => {
    feed({ ...BARE, sort: ['n'] });
    answer(1000);
    subscription.refuse({ condition: 'TOO_MANY_SUBSCRIPTIONS', message: 'full' });
    expect(subscription.views.length).toBe(1);
    expect(refusals.at(-1)).toMatchObject({ condition: 'TOO_MANY_SUBSCRIPTIONS' });
    answer(1000);
    expect(refusals.at(-1)).toBeNull();
  });

  it('gives up if the bare table is refused, too', () => {
    feed({ ...BARE, sort: ['n'] });
    answer(1000);
    for (let times = 0; times < 5; times++) subscription.refuse(bad);
    expect(subscription.views.length).toBe(2);
  });

  it('waits if no page was ever shown', () => {
    feed({ ...BARE, filters: ['n >'] });
    subscription.refuse(bad);
    expect(subscription.views.length).toBe(1);
    expect(refusals).toEqual([bad]);
  });
});

describe('a feed whose columns were removed', () => {
  const sorted: Query = { ...BARE, sort: ['-n', 'm'], filters: ['n > 1', 'm > 1'] };

  it('drops them, reports it, and uses them again when they return', () => {
    feed(sorted);
    answer(1000);
    answer(1000, { generation: 2, missing: ['n'] });
    expect(subscription.current).toMatchObject({ sort: ['m'], filter: 'm > 1' });
    expect(missing).toEqual(['n']);
    answer(1000, { generation: 2 });
    expect(subscription.views.length).toBe(2);
    answer(1000, { generation: 3 });
    expect(subscription.current).toMatchObject({ sort: ['-n', 'm'] });
    answer(1000, { generation: 3 });
    expect(missing).toEqual([]);
    expect(refusals.filter(Boolean)).toEqual([]);
  });

  it('continues without them if another swap does not return them', () => {
    feed(sorted);
    answer(1000);
    answer(1000, { generation: 2, missing: ['n'] });
    answer(1000, { generation: 2 });
    answer(1000, { generation: 3 });
    subscription.refuse({ condition: 'COLUMN_NOT_FOUND', message: 'gone' });
    expect(subscription.current).toMatchObject({ sort: ['m'], filter: 'm > 1' });
    expect(missing).toEqual(['n']);
    expect(refusals.filter(Boolean)).toEqual([]);
  });

  it('can change the sort meanwhile', () => {
    const current = feed(sorted);
    answer(1000);
    answer(1000, { generation: 2, missing: ['n'] });
    answer(1000, { generation: 2 });
    current.setQuery({ ...sorted, sort: ['-n', 'x'] });
    expect(subscription.current).toMatchObject({ sort: ['x'], filter: 'm > 1' });
  });
});
