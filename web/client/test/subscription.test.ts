import { describe, expect, it } from 'vitest';
import type { View } from '../src/types';
import { errorFrame, live, pageFrame, patchFrame, viewer, World } from './world';

const OTHER: View = { filter: 'balance > 1' };
const BAD: View = { filter: 'balance >' };

/** A live subscription that shows a page, with tag 2. */
async function shown(world: World) {
  const all = await live(world);
  world.socket.push(pageFrame({ tag: 2 }));
  return { world, ...all };
}

describe('frames', () => {
  it('of an older publication or version are dropped', async () => {
    const { world, heard } = await shown(new World());
    for (const old of [{ version: 9 }, { publication: 4, version: 99 }]) {
      world.socket.push(pageFrame({ tag: 2, ...old })).push(patchFrame({ tag: 2, ...old }));
      world.socket.push({ ...patchFrame({ tag: 2, ...old }), type: 'total' });
    }
    expect(heard.pages).toHaveLength(1);
    expect(world.socket.sent).toHaveLength(1);
    world.socket.push(pageFrame({ tag: 2 })).push(pageFrame({ tag: 2, publication: 6, version: 1 }));
    expect(heard.pages).toHaveLength(3);
  });

  it('tell a swap by the generation', async () => {
    const { world, heard } = await shown(new World());
    world.socket.push(pageFrame({ tag: 2, publication: 6, generation: 4 }));
    world.socket.push(pageFrame({ tag: 2, publication: 7, generation: 4 }));
    expect(heard.changes.map((change) => change.kind === 'page' && change.swapped)).toEqual([
      false,
      true,
      false,
    ]);
  });

  it('tell of waiting, and the page that was there stays', async () => {
    const { world, heard, subscription } = await shown(new World());
    world.socket.push({ type: 'waiting', id: '1', tag: 2, table: 'final_ui' });
    expect(heard.waiting).toBe(1);
    expect(subscription.page).not.toBeNull();
    subscription.view(OTHER);
    world.socket.push({ type: 'waiting', id: '1', tag: 2, table: 'final_ui' });
    expect(heard.waiting).toBe(1);
  });

  it('of a subscription that has ended are dropped', async () => {
    const { world, heard, subscription } = await shown(new World());
    subscription.dispose();
    expect(world.socket.sent.at(-1)).toEqual({ type: 'unsubscribe', id: '1' });
    world.socket.push(pageFrame({ tag: 2, version: 11 })).push(errorFrame(2));
    expect(heard.pages).toHaveLength(1);
    expect(heard.refused).toEqual([]);
  });
});

describe('a subscription', () => {
  it('that is refused says so, and is tried again on the next socket', async () => {
    const world = new World();
    const { heard, client } = await live(world);
    world.socket.push(errorFrame(2, { condition: 'TABLE_NOT_FOUND' }));
    expect(heard.refused).toMatchObject([{ condition: 'TABLE_NOT_FOUND' }]);
    expect(client.connection.state).toBe('live');
    expect(world.socket.sent).toHaveLength(1);
    world.socket.end();
    await world.pass(50);
    world.socket.welcome().push(pageFrame({ tag: 3 }));
    expect(heard.pages).toHaveLength(1);
  });

  it('that is refused subscribes anew with the next view', async () => {
    const world = new World();
    const { subscription } = await live(world);
    world.socket.push(errorFrame(2));
    subscription.view(OTHER);
    expect(world.socket.sent.at(-1)).toMatchObject({ type: 'subscribe', view: OTHER });
  });

  it('that is refused while a newer view is under way subscribes with that one', async () => {
    const world = new World();
    const { subscription, heard } = await live(world, {}, BAD);
    subscription.view(OTHER);
    world.socket.push(errorFrame(2)).push(errorFrame(3, { condition: 'SUBSCRIPTION_NOT_FOUND' }));
    expect(heard.refused).toEqual([]);
    expect(world.socket.sent.map(({ type, tag }) => [type, tag])).toEqual([
      ['subscribe', 2],
      ['view', 3],
      ['subscribe', 4],
    ]);
    world.socket.push(pageFrame({ tag: 4 }));
    expect(heard.pages.at(-1)?.view).toBe(OTHER);
  });

  it('for which there is no room says so, and comes in when another one leaves', async () => {
    const world = new World();
    const client = world.client();
    const eyes = Array.from({ length: 65 }, () => viewer());
    const all = eyes.map((eye) => client.subscribe('t', {}, eye));
    await world.pass(0);
    world.socket.welcome();
    expect(world.socket.sentOf('subscribe')).toHaveLength(65);
    world.socket.push(errorFrame(2, { id: '65', condition: 'TOO_MANY_SUBSCRIPTIONS' }));
    expect(eyes[64]?.heard.refused).toMatchObject([{ condition: 'TOO_MANY_SUBSCRIPTIONS' }]);
    all[3]?.dispose();
    expect(world.socket.sent.slice(-2)).toEqual([
      { type: 'unsubscribe', id: '4' },
      expect.objectContaining({ type: 'subscribe', id: '65', tag: 3 }),
    ]);
    all[4]?.dispose();
    expect(world.socket.sent.at(-1)).toEqual({ type: 'unsubscribe', id: '5' });
  });
});
