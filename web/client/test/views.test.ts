import { describe, expect, it } from 'vitest';
import type { View } from '../src/types';
import { errorFrame, FakePlatform, live, pageFrame, patchFrame, viewer } from './fake-platform';

const FIRST: View = { sort: ['name'] };
const SECOND: View = { filter: 'balance > 1' };
const THIRD: View = { filter: 'balance >' };

/** A live subscription that shows FIRST, with tag 2. */
async function shown(platform = new FakePlatform()) {
  const all = await live(platform, {}, FIRST);
  platform.socket.push(pageFrame({ tag: 2 }));
  return { platform, ...all };
}

describe('views', () => {
  it('are sent with a new tag, and with the fields of the protocol only', async () => {
    const { platform, subscription } = await shown();
    subscription.view({ ...SECOND, color: 'red' } as View);
    expect(platform.socket.sent.at(-1)).toEqual({ type: 'view', id: '1', tag: 3, view: SECOND });
  });

  it('show nothing after they were replaced', async () => {
    const { platform, subscription, recorded } = await shown();
    subscription.view(SECOND);
    platform.socket.push(patchFrame({ tag: 2, cells: [[0, 1, 7]] }));
    platform.socket.push(pageFrame({ tag: 2, version: 12 }));
    platform.socket.push({ ...patchFrame({ tag: 2, version: 13 }), type: 'total' });
    expect(recorded.pages).toHaveLength(1);
    platform.socket.push(pageFrame({ tag: 3, version: 13, rows: [['New', 1]] }));
    expect(recorded.pages[1]?.rows).toEqual([['New', 1]]);
    expect(recorded.pages[1]?.view).toBe(SECOND);
    platform.socket.push(pageFrame({ tag: 2, version: 14 })); // the protocol forbids it
    expect(recorded.pages).toHaveLength(2);
  });

  it('show the newest only if several are requested at once', async () => {
    const { platform, subscription, recorded } = await shown();
    for (const offset of [100, 200, 300]) subscription.view({ offset });
    platform.socket.push(pageFrame({ tag: 3, offset: 100 })).push(pageFrame({ tag: 4, offset: 200 }));
    expect(recorded.pages).toHaveLength(1);
    platform.socket.push(pageFrame({ tag: 5, offset: 300 }));
    expect(recorded.pages.map(({ offset }) => offset)).toEqual([0, 300]);
  });

  it('leave the old one as it was if they are refused', async () => {
    const { platform, subscription, recorded } = await shown();
    subscription.view(THIRD);
    platform.socket.push(errorFrame(3, { position: 9 }));
    expect(recorded.refused).toEqual([
      { condition: 'FILTER_INVALID', message: 'invalid filter', position: 9 },
    ]);
    expect(recorded.pages).toHaveLength(1);
    platform.socket.push(patchFrame({ tag: 2, cells: [[0, 1, 7]] }));
    expect(subscription.page?.rows[0]).toEqual(['Ada', 7]);
    expect(subscription.page?.view).toBe(FIRST);
  });

  it('show the current rows of the old one before the reason if they are refused', async () => {
    const platform = new FakePlatform();
    const events: string[] = [];
    const client = platform.client();
    const subscription = client.subscribe('t', FIRST, {
      page: ({ version }) => events.push(`page ${version}`),
      refused: () => events.push('refused'),
    });
    await platform.pass(0);
    platform.socket.welcome().push(pageFrame({ tag: 2 }));
    subscription.view(THIRD);
    platform.socket.push(patchFrame({ tag: 2, cells: [[0, 1, 7]] })).push(errorFrame(3));
    expect(events).toEqual(['page 10', 'page 11', 'refused']);
    expect(subscription.page?.rows[0]).toEqual(['Ada', 7]);
    platform.socket.push(patchFrame({ tag: 2, version: 12, cells: [[1, 1, 8]] }));
    expect(subscription.page?.rows).toEqual([
      ['Ada', 7],
      ['Bob', 8],
    ]);
  });

  it('leave a waiting view in place if they are refused before any page', async () => {
    const platform = new FakePlatform();
    const { subscription, recorded } = await live(platform, {}, FIRST);
    platform.socket.push({ type: 'waiting', id: '1', tag: 2, table: 'final_ui' });
    subscription.view(THIRD);
    platform.socket.push(errorFrame(3));
    expect(recorded.refused).toHaveLength(1);
    platform.socket.push(pageFrame({ tag: 2 }));
    expect(subscription.page?.view).toBe(FIRST);
  });

  it('are not reported if they are refused after they were replaced', async () => {
    const { platform, subscription, recorded } = await shown();
    subscription.view(THIRD);
    subscription.view(SECOND);
    platform.socket.push(errorFrame(3));
    expect(recorded.refused).toEqual([]);
    platform.socket.push(pageFrame({ tag: 4 }));
    expect(recorded.pages.at(-1)?.view).toBe(SECOND);
  });

  it('go back to one in between that was accepted without a page', async () => {
    const { platform, subscription, recorded } = await shown();
    subscription.view(SECOND);
    subscription.view(THIRD);
    platform.socket.push(errorFrame(4));
    expect(recorded.refused).toHaveLength(1);
    platform.socket.push(patchFrame({ tag: 2, cells: [[0, 1, 7]] })); // before it got there
    expect(recorded.pages).toHaveLength(1);
    platform.socket.push(pageFrame({ tag: 3, version: 12 }));
    expect(recorded.pages.at(-1)?.view).toBe(SECOND);
  });

  it('are not sent on the next socket if they were refused', async () => {
    const { platform, subscription } = await shown();
    subscription.view(THIRD);
    platform.socket.push(errorFrame(3)).end();
    await platform.pass(50);
    platform.socket.welcome();
    expect(platform.socket.sent).toEqual([
      { type: 'subscribe', id: '1', table: 'final_ui', tag: 4, view: FIRST },
    ]);
  });

  it('are sent on the next socket if they were not answered; if refused there, the last good one is', async () => {
    const { platform, subscription, recorded } = await shown();
    subscription.view(THIRD);
    platform.socket.end();
    await platform.pass(50);
    platform.socket.welcome();
    expect(platform.socket.sent[0]).toMatchObject({ type: 'subscribe', tag: 4, view: THIRD });
    platform.socket.push(errorFrame(4));
    expect(recorded.refused).toHaveLength(1);
    expect(platform.socket.sent[1]).toMatchObject({ type: 'subscribe', tag: 5, view: FIRST });
    platform.socket.push(pageFrame({ tag: 5 }));
    expect(recorded.pages.at(-1)?.view).toBe(FIRST);
    platform.socket.end();
    await platform.pass(50);
    platform.socket.welcome();
    expect(platform.socket.sent).toEqual([expect.objectContaining({ view: FIRST })]);
  });

  it('are sent on the next socket if there is none', async () => {
    const { platform, subscription } = await shown();
    platform.socket.end();
    subscription.view(THIRD);
    subscription.view(SECOND);
    await platform.pass(50);
    platform.socket.welcome();
    expect(platform.socket.sent).toEqual([expect.objectContaining({ type: 'subscribe', view: SECOND })]);
  });

  it('may be changed in a viewer', async () => {
    const platform = new FakePlatform();
    const client = platform.client();
    const versions: number[] = [];
    const subscription = client.subscribe('t', FIRST, {
      page: ({ version }) => {
        versions.push(version);
        if (version === 10) subscription.view(SECOND);
      },
    });
    await platform.pass(0);
    platform.socket
      .welcome()
      .push(pageFrame({ tag: 2 }))
      .push(patchFrame({ tag: 2 }));
    platform.socket.push(pageFrame({ tag: 3, version: 12 }));
    expect(versions).toEqual([10, 12]);
  });

  it('throw if they are malformed, and are never sent', async () => {
    const { platform, subscription, client } = await shown();
    const bad: unknown[] = [
      { limit: 1.5 },
      { limit: -1 },
      { limit: '10' },
      { offset: Number.NaN },
      { offset: 2 ** 53 },
      { columns: 'name' },
      { columns: [1] },
      { sort: 'name' },
      { sort: null },
      { filter: 3 },
      { filter: 'half a pair: \ud800' },
      { filter: 'é'.repeat(40_000) },
      { newestFirst: 1 },
    ];
    for (const view of bad)
      expect(() => subscription.view(view as View), JSON.stringify(view)).toThrow(TypeError);
    expect(() => client.subscribe('', {}, viewer())).toThrow('table must be a name');
    expect(platform.socket.sent).toHaveLength(1);
    const good: View = {
      columns: null,
      sort: [],
      filter: '😀',
      offset: 2 ** 53 - 1,
      limit: 0,
      newestFirst: true,
    };
    subscription.view(good);
    expect(platform.socket.sent.at(-1)?.view).toEqual(good);
  });
});
