import { describe, expect, it, vi } from 'vitest';
import { answer, errorFrame, later, live, pageFrame, settle, states, viewer, World } from './world';

describe('dispose', () => {
  it('ends everything, tells so once, and may be called again', async () => {
    const world = new World();
    const { client, seen, heard, subscription } = await live(world);
    world.socket.push(pageFrame({ tag: 2 }));
    client.dispose();
    client.dispose();
    subscription.dispose();
    expect(world.left).toBe(0);
    expect(client.connection).toMatchObject({ state: 'disposed', retryAt: null });
    expect(seen.map(({ state }) => state)).toEqual(['connecting', 'live', 'disposed']);
    expect(heard.pages).toHaveLength(1);
    expect(world.socket.sentOf('unsubscribe')).toEqual([]); // the socket ends, and all with it
    await world.pass(60_000);
    expect(world.sockets).toHaveLength(1);
    expect(world.left).toBe(0);
  });

  it('leaves nothing, whenever it comes', async () => {
    const moments: Record<string, (world: World) => Promise<unknown>> = {
      'before anything': async () => {},
      'while it connects': async (world) => world.pass(10),
      'while the socket is open and silent': async (world) => {
        await settle();
        world.socket.open();
      },
      'while it is asked for a sign of life': async (world) => {
        await settle();
        world.socket.welcome();
        await world.pass(6_000);
      },
      'while it is stale': async (world) => {
        await settle();
        world.socket.welcome();
        await world.pass(10_000);
      },
      'while it waits for the next attempt': async (world) => {
        await settle();
        world.socket.end();
        await settle();
      },
      'while it reconnects': async (world) => {
        await settle();
        world.socket.end();
        await world.pass(50);
      },
      'while a probe is under way': async (world) => {
        await settle();
        world.fetch = () => new Promise(() => {});
        world.socket.end();
        await settle();
      },
      'while it is refused': async (world) => {
        await settle();
        world.fetch = async () => answer(401);
        world.socket.end();
        await settle();
      },
    };
    for (const [moment, come] of Object.entries(moments)) {
      const world = new World();
      const client = world.client({ token: () => 'abc' });
      client.subscribe('t', {}, viewer());
      await come(world);
      const sockets = world.sockets.length;
      client.dispose();
      expect(world.left, moment).toBe(0);
      await world.pass(60_000);
      expect(world.left, moment).toBe(0);
      expect(world.sockets, moment).toHaveLength(sockets);
      for (const { init } of world.fetched) {
        if (moment.includes('probe')) expect(init.signal?.aborted).toBe(true);
      }
    }
  });

  it('leaves nothing while a token is asked for, however that ends', async () => {
    for (const fails of [false, true]) {
      const world = new World();
      let resolve: (token: string) => void = () => {};
      let reject: (error: Error) => void = () => {};
      const token = () =>
        new Promise<string>((done, failed) => {
          resolve = done;
          reject = failed;
        });
      const client = world.client({ token });
      client.subscribe('t', {}, viewer());
      await settle();
      client.reconnect();
      client.dispose();
      if (fails) reject(new Error('no'));
      else resolve('late');
      await world.pass(60_000);
      expect(world.sockets).toHaveLength(0);
      expect(world.left).toBe(0);
      expect(client.connection.state).toBe('disposed');
    }
  });

  it('leaves nothing while a refused client asks for another token', async () => {
    const world = new World();
    const slow = later<string>();
    let count = 0;
    const client = world.client({ token: () => (++count === 1 ? 'old' : slow.promise) });
    client.subscribe('t', {}, viewer());
    await settle();
    world.fetch = async () => answer(401);
    world.socket.end();
    await world.pass(5_000);
    client.dispose();
    slow.resolve('new');
    await world.pass(60_000);
    expect(count).toBe(2);
    expect(world.sockets).toHaveLength(1);
    expect(world.left).toBe(0);
  });

  it('may come from within any callback', async () => {
    const inState = async (state: string) => {
      const world = new World();
      const client = world.client();
      client.onConnection((connection) => {
        if (connection.state === state) client.dispose();
      });
      const seen = states(client);
      client.subscribe('t', {}, viewer());
      await settle();
      world.socket.welcome();
      if (state === 'stale') await world.pass(10_000);
      else world.socket.end();
      await world.pass(60_000);
      expect(world.left, state).toBe(0);
      expect(seen.at(-1)?.state, state).toBe('disposed');
      expect(seen.map((connection) => connection.state)).not.toContain(state);
    };
    for (const state of ['live', 'reconnecting', 'stale']) await inState(state);
    const world = new World();
    const client = world.client();
    const other = viewer();
    client.subscribe('t', {}, { page: () => client.dispose() });
    client.subscribe('t', {}, other);
    await settle();
    world.socket
      .welcome()
      .push(pageFrame({ tag: 2 }))
      .push(pageFrame({ tag: 2, id: '2' }));
    expect(other.heard.pages).toEqual([]);
    expect(world.left).toBe(0);
  });

  it('from within a callback asks for no token any more', async () => {
    const world = new World();
    let count = 0;
    const { client } = await live(world, { token: () => `${++count}` });
    client.onConnection(({ state }) => {
      if (state === 'reconnecting') client.dispose();
    });
    client.reconnect();
    await settle();
    expect(count).toBe(1);
    expect(world.left).toBe(0);
  });

  it('of a subscription from within its viewer is the end of its news', async () => {
    const world = new World();
    const client = world.client();
    const refused = vi.fn();
    let pages = 0;
    const subscription = client.subscribe(
      't',
      {},
      { page: () => ++pages > 1 && subscription.dispose(), refused },
    );
    await settle();
    world.socket.welcome().push(pageFrame({ tag: 2 }));
    subscription.view({ filter: 'x' });
    world.socket.push(pageFrame({ tag: 2, version: 11 })).push(errorFrame(3)); // a page, then a refusal
    expect(pages).toBe(2);
    expect(refused).not.toHaveBeenCalled();
  });

  it('is the end: whoever goes on is told so', async () => {
    const world = new World();
    let count = 0;
    const { client, subscription } = await live(world, { token: () => `${++count}` });
    client.dispose();
    const words = 'This EvertableClient was disposed';
    expect(() => client.subscribe('t', {}, viewer())).toThrow(words);
    expect(() => client.reconnect()).toThrow(words);
    expect(() => client.onConnection(() => {})).toThrow(words);
    await expect(client.request('api/status')).rejects.toThrow(words);
    expect(count).toBe(1);
    expect(() => subscription.view({})).toThrow('This subscription of final_ui was disposed');
  });
});
