import type { Change, Page, Refusal } from '@evertable/client';
import { beforeEach, describe, expect, it } from 'vitest';
import { Feed } from '../src/feed';
import { BARE, type Query } from '../src/query';
import { FakeSubscription } from './fake-client';

const columns = [{ name: 'n', type: 'int' }];
const rows = (from: number, count: number) => Array.from({ length: count }, (_, at) => [from + at]);
const bad: Refusal = { condition: 'FILTER_INVALID', message: 'no', position: 0 };

let subscription: FakeSubscription;
let seen: { first: number; last: number } | null;
let shown: { page: Page; change: Change; fresh: number | null }[];
let refusals: (Refusal | null)[];
let missing: readonly string[];

function feed(query: Query = BARE, start = 0): Feed {
  return new Feed(
    (view, viewer) => {
      subscription = new FakeSubscription('t', view, viewer);
      return subscription;
    },
    {
      show: (page, change, fresh) => shown.push({ page, change, fresh }),
      seen: () => seen,
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
  const { offset = 0, limit = 100 } = subscription.asked;
  subscription.send({
    columns,
    rows: rows(offset, Math.max(0, Math.min(limit, total - offset))),
    total,
    ...more,
  });
}

beforeEach(() => {
  seen = { first: 0, last: 19 };
  shown = [];
  refusals = [];
  missing = [];
});

describe('a feed', () => {
  it('begins at the row it is told to', () => {
    feed(BARE, 500);
    expect(subscription.asked).toMatchObject({ offset: 500, limit: 100 });
    seen = null;
    answer(1000);
    expect(shown.at(-1)?.fresh).toBe(500);
  });

  it('asks for one window at a time, and for the newest one then', () => {
    const it = feed();
    answer(10_000);
    seen = { first: 2000, last: 2019 };
    it.follow();
    seen = { first: 5000, last: 5019 };
    it.follow();
    expect(subscription.views.map((view) => view.offset)).toEqual([0, 1960]);
    answer(10_000);
    expect(subscription.asked.offset).toBe(4960);
  });

  it('shows what comes while the screen is on its way', () => {
    const it = feed();
    answer(10_000);
    seen = { first: 2000, last: 2019 };
    it.follow();
    answer(10_000);
    expect(shown.at(-1)?.page.offset).toBe(1960);
    expect(shown.at(-1)?.fresh).toBeNull();
  });

  it('keeps the rows until those of another order are there, and begins at the first', () => {
    const it = feed();
    answer(10_000);
    seen = { first: 2000, last: 2019 };
    it.follow();
    answer(10_000);
    it.ask({ ...BARE, sort: ['n'] });
    expect(subscription.asked).toMatchObject({ sort: ['n'], offset: 0 });
    const before = subscription.views.at(-2);
    subscription.send({ columns, rows: rows(1960, 100), total: 10_000, offset: 1960, view: before });
    expect(shown.at(-1)?.fresh).toBeNull();
    answer(10_000);
    expect(shown.at(-1)).toMatchObject({ fresh: 0, page: { offset: 0 } });
  });

  it('holds a page back that would blank the screen, until the rows are there', () => {
    const it = feed();
    answer(10_000);
    seen = { first: 2000, last: 2019 };
    it.follow();
    answer(10_000);
    const count = shown.length;
    answer(50, { generation: 2 });
    expect(shown.length).toBe(count);
    expect(subscription.asked.offset).toBe(0);
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
  it.each(['QUERY_TIMEOUT', 'TOO_MANY_QUERIES', 'TOO_MANY_VIEWS'])('goes on with what it showed after %s', (condition) => {
    const it = feed({ ...BARE, sort: ['n'] });
    answer(1000);
    it.ask({ ...BARE, filters: ['n > 1'] });
    subscription.refuse({ condition, message: 'no' });
    expect(refusals.at(-1)).toMatchObject({ condition });
    expect(subscription.asked).toMatchObject({ sort: ['n'], filter: '' });
  });

  it('goes on with what it showed, and says why until something else is asked', () => {
    const it = feed({ ...BARE, sort: ['n'] });
    answer(1000);
    it.ask({ ...BARE, sort: ['n'], filters: ['n >'] });
    subscription.refuse(bad);
    expect(refusals.at(-1)).toBe(bad);
    expect(subscription.asked).toMatchObject({ sort: ['n'], filter: '' });
    answer(1000);
    expect(refusals.at(-1)).toBe(bad);
    it.ask({ ...BARE, filters: ['n > 1'] });
    answer(10);
    expect(refusals.at(-1)).toBeNull();
  });

  it('shows the bare table if even that is refused, and tries again after a swap', () => {
    feed({ ...BARE, sort: ['n'] });
    answer(1000);
    subscription.refuse({ condition: 'COLUMN_NOT_FOUND', message: 'gone' });
    expect(subscription.asked.sort).toEqual([]);
    answer(1000, { generation: 2 });
    expect(subscription.asked.sort).toEqual(['n']);
    answer(1000, { generation: 2 });
    expect(refusals.at(-1)).toBeNull();
  });

  it('stays where the screen is', () => {
    const it = feed();
    answer(10_000);
    seen = { first: 2000, last: 2019 };
    it.follow();
    answer(10_000);
    it.ask({ ...BARE, filters: ['n >'] });
    subscription.refuse(bad);
    expect(subscription.asked).toMatchObject({ offset: 1960, filter: '' });
    answer(10_000);
    expect(shown.at(-1)?.fresh).toBeNull();
  });

  it('does not try other views where it is not about the view', () => {
    feed({ ...BARE, sort: ['n'] });
    answer(1000);
    subscription.refuse({ condition: 'TOO_MANY_SUBSCRIPTIONS', message: 'full' });
    expect(subscription.views.length).toBe(1);
    expect(refusals.at(-1)).toMatchObject({ condition: 'TOO_MANY_SUBSCRIPTIONS' });
    answer(1000);
    expect(refusals.at(-1)).toBeNull();
  });

  it('gives up when even the bare table is refused', () => {
    feed({ ...BARE, sort: ['n'] });
    answer(1000);
    for (let times = 0; times < 5; times++) subscription.refuse(bad);
    expect(subscription.views.length).toBe(2);
  });

  it('waits if nothing could ever be shown', () => {
    feed({ ...BARE, filters: ['n >'] });
    subscription.refuse(bad);
    expect(subscription.views.length).toBe(1);
    expect(refusals).toEqual([bad]);
  });
});

describe('a feed whose columns are gone', () => {
  const sorted: Query = { ...BARE, sort: ['-n', 'm'], filters: ['n > 1', 'm > 1'] };

  it('does without them, says so, and takes them back when they are', () => {
    feed(sorted);
    answer(1000);
    answer(1000, { generation: 2, missing: ['n'] });
    expect(subscription.asked).toMatchObject({ sort: ['m'], filter: 'm > 1' });
    expect(missing).toEqual(['n']);
    answer(1000, { generation: 2 });
    expect(subscription.views.length).toBe(2);
    answer(1000, { generation: 3 });
    expect(subscription.asked).toMatchObject({ sort: ['-n', 'm'] });
    answer(1000, { generation: 3 });
    expect(missing).toEqual([]);
    expect(refusals.filter(Boolean)).toEqual([]);
  });

  it('stays without them if another swap does not bring them', () => {
    feed(sorted);
    answer(1000);
    answer(1000, { generation: 2, missing: ['n'] });
    answer(1000, { generation: 2 });
    answer(1000, { generation: 3 });
    subscription.refuse({ condition: 'COLUMN_NOT_FOUND', message: 'gone' });
    expect(subscription.asked).toMatchObject({ sort: ['m'], filter: 'm > 1' });
    expect(missing).toEqual(['n']);
    expect(refusals.filter(Boolean)).toEqual([]);
  });

  it('sorts otherwise meanwhile', () => {
    const it = feed(sorted);
    answer(1000);
    answer(1000, { generation: 2, missing: ['n'] });
    answer(1000, { generation: 2 });
    it.ask({ ...sorted, sort: ['-n', 'x'] });
    expect(subscription.asked).toMatchObject({ sort: ['x'], filter: 'm > 1' });
  });
});
