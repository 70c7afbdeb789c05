import { describe, expect, it, vi } from 'vitest';
import {
  answer,
  errorFrame,
  FakePlatform,
  later,
  live,
  pageFrame,
  settle,
  states,
  viewer,
} from './fake-platform';

describe('dispose', () => {
  it('ends everything, reports it once, and may be called again', async () => {
    const platform = new FakePlatform();
    const { client, seen, recorded, subscription } = await live(platform);
    platform.socket.push(pageFrame({ tag: 2 }));
    client.dispose();
    client.dispose();
    subscription.dispose();
    expect(platform.left).toBe(0);
    expect(client.connection).toMatchObject({ state: 'disposed', retryAt: null });
    expect(seen.map(({ state }) => state)).toEqual(['connecting', 'live', 'disposed']);
    expect(recorded.pages).toHaveLength(1);
    expect(platform.socket.sentOf('unsubscribe')).toEqual([]); // the socket ends, and all with it
    await platform.pass(60_000);
    expect(platform.sockets).toHaveLength(1);
    expect(platform.left).toBe(0);
  });

  it('leaves nothing running, in any state', async () => {
    const moments: Record<string, (platform: FakePlatform) => Promise<unknown>> = {
      'before anything': async () => {},
      'while it connects': async (platform) => platform.pass(10),
      'while the socket is open and silent': async (platform) => {
        await settle();
        platform.socket.open();
      },
      'while it is asked for a sign of life': async (platform) => {
        await settle();
        platform.socket.welcome();
        await platform.pass(6_000);
      },
      'while it is stale': async (platform) => {
        await settle();
        platform.socket.welcome();
        await platform.pass(10_000);
      },
      'while it waits for the next attempt': async (platform) => {
        await settle();
        platform.socket.end();
        await settle();
      },
      'while it reconnects': async (platform) => {
        await settle();
        platform.socket.end();
        await platform.pass(50);
      },
      'while a probe is under way': async (platform) => {
        await settle();
        platform.fetch = () => new Promise(() => {});
        platform.socket.end();
        await settle();
      },
      'while it is refused': async (platform) => {
        await settle();
        platform.fetch = async () => answer(401);
        platform.socket.end();
        await settle();
      },
    };
    for (const [moment, come] of Object.entries(moments)) {
      const platform = new FakePlatform();
      const client = platform.client({ token: () => 'abc' });
      client.subscribe('t', {}, viewer());
      await come(platform);
      const sockets = platform.sockets.length;
      client.dispose();
      expect(platform.left, moment).toBe(0);
      await platform.pass(60_000);
      expect(platform.left, moment).toBe(0);
      expect(platform.sockets, moment).toHaveLength(sockets);
      for (const { init } of platform.fetched) {
        if (moment.includes('probe')) expect(init.signal?.aborted).toBe(true);
      }
    }
  });

  it('leaves nothing running during a token request, however that ends', async () => {
    for (const fails of [false, true]) {
      const platform = new FakePlatform();
      let resolve: (token: string) => void = () => {};
      let reject: (error: Error) => void = () => {};
      const token = () =>
        new Promise<string>((done, failed) => {
          resolve = done;
          reject = failed;
        });
      const client = platform.client({ token });
      client.subscribe('t', {}, viewer());
      await settle();
      client.reconnect();
      client.dispose();
      if (fails) reject(new Error('no'));
      else resolve('late');
      await platform.pass(60_000);
      expect(platform.sockets).toHaveLength(0);
      expect(platform.left).toBe(0);
      expect(client.connection.state).toBe('disposed');
    }
  });

  it('leaves nothing running while a refused client polls for another token', async () => {
    const platform = new FakePlatform();
    const slow = later<string>();
    let count = 0;
    const client = platform.client({ token: () => (++count === 1 ? 'old' : slow.promise) });
    client.subscribe('t', {}, viewer());
    await settle();
    platform.fetch = async () => answer(401);
    platform.socket.end();
    await platform.pass(5_000);
    client.dispose();
    slow.resolve('new');
    await platform.pass(60_000);
    expect(count).toBe(2);
    expect(platform.sockets).toHaveLength(1);
    expect(platform.left).toBe(0);
  });

  it('may be called in any callback', async () => {
    const inState = async (state: string) => {
      const platform = new FakePlatform();
      const client = platform.client();
      client.onConnection((connection) => {
        if (connection.state === state) client.dispose();
      });
      const seen = states(client);
      client.subscribe('t', {}, viewer());
      await settle();
      platform.socket.welcome();
      if (state === 'stale') await platform.pass(10_000);
      else platform.socket.end();
      await platform.pass(60_000);
      expect(platform.left, state).toBe(0);
      expect(seen.at(-1)?.state, state).toBe('disposed');
      expect(seen.map((connection) => connection.state)).not.toContain(state);
    };
    for (const state of ['live', 'reconnecting', 'stale']) await inState(state);
    const platform = new FakePlatform();
    const client = platform.client();
    const other = viewer();
    client.subscribe('t', {}, { page: () => client.dispose() });
    client.subscribe('t', {}, other);
    await settle();
    platform.socket
      .welcome()
      .push(pageFrame({ tag: 2 }))
      .push(pageFrame({ tag: 2, id: '2' }));
    expect(other.recorded.pages).toEqual([]);
    expect(platform.left).toBe(0);
  });

  it('requests no token after a call in a callback', async () => {
    const platform = new FakePlatform();
    let count = 0;
    const { client } = await live(platform, { token: () => `${++count}` });
    client.onConnection(({ state }) => {
      if (state === 'reconnecting') client.dispose();
    });
    client.reconnect();
    await settle();
    expect(count).toBe(1);
    expect(platform.left).toBe(0);
  });

  it('ends the events of a subscription that is disposed in its viewer', async () => {
    const platform = new FakePlatform();
    const client = platform.client();
    const refused = vi.fn();
    let pages = 0;
    const subscription = client.subscribe(
      't',
      {},
      { page: () => ++pages > 1 && subscription.dispose(), refused },
    );
    await settle();
    platform.socket.welcome().push(pageFrame({ tag: 2 }));
    subscription.view({ filter: 'x' });
    platform.socket.push(pageFrame({ tag: 2, version: 11 })).push(errorFrame(3)); // a page, then a refusal
    expect(pages).toBe(2);
    expect(refused).not.toHaveBeenCalled();
  });

  it('makes every later call throw', async () => {
    const platform = new FakePlatform();
    let count = 0;
    const { client, subscription } = await live(platform, { token: () => `${++count}` });
    client.dispose();
    const words = 'This EvertableClient was disposed';
    expect(() => client.subscribe('t', {}, viewer())).toThrow(words);
    expect(() => client.reconnect()).toThrow(words);
    expect(() => client.onConnection(() => {})).toThrow(words);
    await expect(client.request('api/status')).rejects.toThrow(words);
    expect(count).toBe(1);
    expect(() => subscription.view({})).toThrow('This subscription to final_ui was disposed');
  });
});
