import { describe, expect, it } from 'vitest';
import type { View } from '../src/types';
import { errorFrame, live, pageFrame, patchFrame, viewer, World } from './world';

const FIRST: View = { sort: ['name'] };
const SECOND: View = { filter: 'balance > 1' };
const THIRD: View = { filter: 'balance >' };

/** A live subscription that shows FIRST, with tag 2. */
async function shown(world = new World()) {
  const all = await live(world, {}, FIRST);
  world.socket.push(pageFrame({ tag: 2 }));
  return { world, ...all };
}

describe('views', () => {
  it('are sent with a new tag, and nothing that the protocol does not know', async () => {
    const { world, subscription } = await shown();
    subscription.view({ ...SECOND, color: 'red' } as View);
    expect(world.socket.sent.at(-1)).toEqual({ type: 'view', id: '1', tag: 3, view: SECOND });
  });

  it('that were left show nothing any more', async () => {
    const { world, subscription, heard } = await shown();
    subscription.view(SECOND);
    world.socket.push(patchFrame({ tag: 2, cells: [[0, 1, 7]] }));
    world.socket.push(pageFrame({ tag: 2, version: 12 }));
    world.socket.push({ ...patchFrame({ tag: 2, version: 13 }), type: 'total' });
    expect(heard.pages).toHaveLength(1);
    world.socket.push(pageFrame({ tag: 3, version: 13, rows: [['New', 1]] }));
    expect(heard.pages[1]?.rows).toEqual([['New', 1]]);
    expect(heard.pages[1]?.view).toBe(SECOND);
    world.socket.push(pageFrame({ tag: 2, version: 14 })); // the protocol forbids it
    expect(heard.pages).toHaveLength(2);
  });

  it('show the newest alone where several are asked for at once', async () => {
    const { world, subscription, heard } = await shown();
    for (const offset of [100, 200, 300]) subscription.view({ offset });
    world.socket.push(pageFrame({ tag: 3, offset: 100 })).push(pageFrame({ tag: 4, offset: 200 }));
    expect(heard.pages).toHaveLength(1);
    world.socket.push(pageFrame({ tag: 5, offset: 300 }));
    expect(heard.pages.map(({ offset }) => offset)).toEqual([0, 300]);
  });

  it('that are refused leave the old one as it was', async () => {
    const { world, subscription, heard } = await shown();
    subscription.view(THIRD);
    world.socket.push(errorFrame(3, { position: 9 }));
    expect(heard.refused).toEqual([{ condition: 'FILTER_INVALID', message: 'not so', position: 9 }]);
    expect(heard.pages).toHaveLength(1);
    world.socket.push(patchFrame({ tag: 2, cells: [[0, 1, 7]] }));
    expect(subscription.page?.rows[0]).toEqual(['Ada', 7]);
    expect(subscription.page?.view).toBe(FIRST);
  });

  it('that are refused bring up what the old one has become meanwhile, before the reason', async () => {
    const world = new World();
    const told: string[] = [];
    const client = world.client();
    const subscription = client.subscribe('t', FIRST, {
      page: ({ version }) => told.push(`page ${version}`),
      refused: () => told.push('refused'),
    });
    await world.pass(0);
    world.socket.welcome().push(pageFrame({ tag: 2 }));
    subscription.view(THIRD);
    world.socket.push(patchFrame({ tag: 2, cells: [[0, 1, 7]] })).push(errorFrame(3));
    expect(told).toEqual(['page 10', 'page 11', 'refused']);
    expect(subscription.page?.rows[0]).toEqual(['Ada', 7]);
    world.socket.push(patchFrame({ tag: 2, version: 12, cells: [[1, 1, 8]] }));
    expect(subscription.page?.rows).toEqual([
      ['Ada', 7],
      ['Bob', 8],
    ]);
  });

  it('that are refused before there is any page leave the one that waits for it', async () => {
    const world = new World();
    const { subscription, heard } = await live(world, {}, FIRST);
    world.socket.push({ type: 'waiting', id: '1', tag: 2, table: 'final_ui' });
    subscription.view(THIRD);
    world.socket.push(errorFrame(3));
    expect(heard.refused).toHaveLength(1);
    world.socket.push(pageFrame({ tag: 2 }));
    expect(subscription.page?.view).toBe(FIRST);
  });

  it('that are refused when nobody waits for them any more are not told of', async () => {
    const { world, subscription, heard } = await shown();
    subscription.view(THIRD);
    subscription.view(SECOND);
    world.socket.push(errorFrame(3));
    expect(heard.refused).toEqual([]);
    world.socket.push(pageFrame({ tag: 4 }));
    expect(heard.pages.at(-1)?.view).toBe(SECOND);
  });

  it('go back to one in between that was accepted without a page', async () => {
    const { world, subscription, heard } = await shown();
    subscription.view(SECOND);
    subscription.view(THIRD);
    world.socket.push(errorFrame(4));
    expect(heard.refused).toHaveLength(1);
    world.socket.push(patchFrame({ tag: 2, cells: [[0, 1, 7]] })); // before it got there
    expect(heard.pages).toHaveLength(1);
    world.socket.push(pageFrame({ tag: 3, version: 12 }));
    expect(heard.pages.at(-1)?.view).toBe(SECOND);
  });

  it('that were refused are not asked for on the next socket', async () => {
    const { world, subscription } = await shown();
    subscription.view(THIRD);
    world.socket.push(errorFrame(3)).end();
    await world.pass(50);
    world.socket.welcome();
    expect(world.socket.sent).toEqual([
      { type: 'subscribe', id: '1', table: 'final_ui', tag: 4, view: FIRST },
    ]);
  });

  it('that were not answered are asked for on the next socket; if refused there, the last good one is', async () => {
    const { world, subscription, heard } = await shown();
    subscription.view(THIRD);
    world.socket.end();
    await world.pass(50);
    world.socket.welcome();
    expect(world.socket.sent[0]).toMatchObject({ type: 'subscribe', tag: 4, view: THIRD });
    world.socket.push(errorFrame(4));
    expect(heard.refused).toHaveLength(1);
    expect(world.socket.sent[1]).toMatchObject({ type: 'subscribe', tag: 5, view: FIRST });
    world.socket.push(pageFrame({ tag: 5 }));
    expect(heard.pages.at(-1)?.view).toBe(FIRST);
    world.socket.end();
    await world.pass(50);
    world.socket.welcome();
    expect(world.socket.sent).toEqual([expect.objectContaining({ view: FIRST })]);
  });

  it('asked for while there is no socket are those of the next one', async () => {
    const { world, subscription } = await shown();
    world.socket.end();
    subscription.view(THIRD);
    subscription.view(SECOND);
    await world.pass(50);
    world.socket.welcome();
    expect(world.socket.sent).toEqual([expect.objectContaining({ type: 'subscribe', view: SECOND })]);
  });

  it('may be changed from within a viewer', async () => {
    const world = new World();
    const client = world.client();
    const versions: number[] = [];
    const subscription = client.subscribe('t', FIRST, {
      page: ({ version }) => {
        versions.push(version);
        if (version === 10) subscription.view(SECOND);
      },
    });
    await world.pass(0);
    world.socket
      .welcome()
      .push(pageFrame({ tag: 2 }))
      .push(patchFrame({ tag: 2 }));
    world.socket.push(pageFrame({ tag: 3, version: 12 }));
    expect(versions).toEqual([10, 12]);
  });

  it('of the wrong shape are the mistake of who asks, and never sent', async () => {
    const { world, subscription, client } = await shown();
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
    expect(() => client.subscribe('', {}, viewer())).toThrow('table is not a name');
    expect(world.socket.sent).toHaveLength(1);
    const good: View = {
      columns: null,
      sort: [],
      filter: '😀',
      offset: 2 ** 53 - 1,
      limit: 0,
      newestFirst: true,
    };
    subscription.view(good);
    expect(world.socket.sent.at(-1)?.view).toEqual(good);
  });
});
