import { describe, expect, it } from 'vitest';
import type { View } from '../src/types';
import { errorFrame, FakePlatform, live, pageFrame, patchFrame, viewer } from './fake-platform';

const OTHER: View = { filter: 'balance > 1' };
const BAD: View = { filter: 'balance >' };

/** A live subscription that shows a page, with tag 2. */
async function shown(platform: FakePlatform) {
  const all = await live(platform);
  platform.socket.push(pageFrame({ tag: 2 }));
  return { platform, ...all };
}

describe('frames', () => {
  it('are dropped if they have an older publication or version', async () => {
    const { platform, recorded } = await shown(new FakePlatform());
    for (const old of [{ version: 9 }, { publication: 4, version: 99 }]) {
      platform.socket.push(pageFrame({ tag: 2, ...old })).push(patchFrame({ tag: 2, ...old }));
      platform.socket.push({ ...patchFrame({ tag: 2, ...old }), type: 'total' });
    }
    expect(recorded.pages).toHaveLength(1);
    expect(platform.socket.sent).toHaveLength(1);
    platform.socket.push(pageFrame({ tag: 2 })).push(pageFrame({ tag: 2, publication: 6, version: 1 }));
    expect(recorded.pages).toHaveLength(3);
  });

  it('report a swap when the generation changes', async () => {
    const { platform, recorded } = await shown(new FakePlatform());
    platform.socket.push(pageFrame({ tag: 2, publication: 6, generation: 4 }));
    platform.socket.push(pageFrame({ tag: 2, publication: 7, generation: 4 }));
    expect(recorded.changes.map((change) => change.kind === 'page' && change.swapped)).toEqual([
      false,
      true,
      false,
    ]);
  });

  it('report waiting, and the last page stays', async () => {
    const { platform, recorded, subscription } = await shown(new FakePlatform());
    platform.socket.push({ type: 'waiting', id: '1', tag: 2, table: 'final_ui' });
    expect(recorded.waiting).toBe(1);
    expect(subscription.page).not.toBeNull();
    subscription.view(OTHER);
    platform.socket.push({ type: 'waiting', id: '1', tag: 2, table: 'final_ui' });
    expect(recorded.waiting).toBe(1);
  });

  it('are dropped if their subscription has ended', async () => {
    const { platform, recorded, subscription } = await shown(new FakePlatform());
    subscription.dispose();
    expect(platform.socket.sent.at(-1)).toEqual({ type: 'unsubscribe', id: '1' });
    platform.socket.push(pageFrame({ tag: 2, version: 11 })).push(errorFrame(2));
    expect(recorded.pages).toHaveLength(1);
    expect(recorded.refused).toEqual([]);
  });
});

describe('a subscription', () => {
  it('is reported if it is refused, and retried on the next socket', async () => {
    const platform = new FakePlatform();
    const { recorded, client } = await live(platform);
    platform.socket.push(errorFrame(2, { condition: 'TABLE_NOT_FOUND' }));
    expect(recorded.refused).toMatchObject([{ condition: 'TABLE_NOT_FOUND' }]);
    expect(client.connection.state).toBe('live');
    expect(platform.socket.sent).toHaveLength(1);
    platform.socket.end();
    await platform.pass(50);
    platform.socket.welcome().push(pageFrame({ tag: 3 }));
    expect(recorded.pages).toHaveLength(1);
  });

  it('subscribes again with the next view if it was refused', async () => {
    const platform = new FakePlatform();
    const { subscription } = await live(platform);
    platform.socket.push(errorFrame(2));
    subscription.view(OTHER);
    expect(platform.socket.sent.at(-1)).toMatchObject({ type: 'subscribe', view: OTHER });
  });

  it('subscribes with a newer view if it is refused before that is answered', async () => {
    const platform = new FakePlatform();
    const { subscription, recorded } = await live(platform, {}, BAD);
    subscription.view(OTHER);
    platform.socket.push(errorFrame(2)).push(errorFrame(3, { condition: 'SUBSCRIPTION_NOT_FOUND' }));
    expect(recorded.refused).toEqual([]);
    expect(platform.socket.sent.map(({ type, tag }) => [type, tag])).toEqual([
      ['subscribe', 2],
      ['view', 3],
      ['subscribe', 4],
    ]);
    platform.socket.push(pageFrame({ tag: 4 }));
    expect(recorded.pages.at(-1)?.view).toBe(OTHER);
  });

  it('is reported if there is no room for it, and retried when another one ends', async () => {
    const platform = new FakePlatform();
    const client = platform.client();
    const eyes = Array.from({ length: 65 }, () => viewer());
    const all = eyes.map((eye) => client.subscribe('t', {}, eye));
    await platform.pass(0);
    platform.socket.welcome();
    expect(platform.socket.sentOf('subscribe')).toHaveLength(65);
    platform.socket.push(errorFrame(2, { id: '65', condition: 'TOO_MANY_SUBSCRIPTIONS' }));
    expect(eyes[64]?.recorded.refused).toMatchObject([{ condition: 'TOO_MANY_SUBSCRIPTIONS' }]);
    all[3]?.dispose();
    expect(platform.socket.sent.slice(-2)).toEqual([
      { type: 'unsubscribe', id: '4' },
      expect.objectContaining({ type: 'subscribe', id: '65', tag: 3 }),
    ]);
    all[4]?.dispose();
    expect(platform.socket.sent.at(-1)).toEqual({ type: 'unsubscribe', id: '5' });
  });
});
