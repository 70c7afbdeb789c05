import { describe, expect, it } from 'vitest';
import { live, pageFrame, settle, viewer, World } from './world';

/** How long it takes until there is another socket. */
async function nextSocket(world: World): Promise<number> {
  const [before, count] = [world.time, world.sockets.length];
  while (world.sockets.length === count && world.time < before + 10_000) await world.pass(10);
  return world.time - before;
}

async function waits(world: World, count: number): Promise<number[]> {
  const found: number[] = [];
  for (let round = 0; round < count; round++) {
    found.push(await nextSocket(world));
    world.socket.end();
    await settle();
  }
  return found;
}

describe('a lost connection', () => {
  it('is tried again for ever, in growing steps', async () => {
    const world = new World();
    const { client, seen } = await live(world);
    await world.pass(5_000);
    world.socket.end();
    expect(client.connection).toMatchObject({ state: 'reconnecting', attempts: 0, retryAt: world.time + 50 });
    expect(await waits(world, 10)).toEqual([50, 100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000]);
    expect(client.connection.attempts).toBe(10);
    expect(client.connection.reason).toMatchObject({ condition: 'SERVER_UNREACHABLE' });
    expect(client.connection.reason?.message).toBe('There is no answer from http://server: Failed to fetch.');
    await world.pass(5_000);
    expect(client.connection.retryAt).toBeNull();
    world.socket.welcome();
    expect(client.connection).toMatchObject({ state: 'live', attempts: 0, retryAt: null, reason: null });
    expect(new Set(seen.map(({ state }) => state))).toEqual(new Set(['connecting', 'live', 'reconnecting']));
  });

  it('keeps its growing steps where sockets open and close at once', async () => {
    const world = new World();
    await live(world);
    const found: number[] = [];
    for (let round = 0; round < 100; round++) {
      world.socket.end(1012);
      found.push(await nextSocket(world));
      world.socket.welcome();
      expect(world.open).toHaveLength(1);
    }
    expect(found.slice(0, 8)).toEqual([50, 100, 200, 400, 800, 1600, 3200, 5000]);
    expect(found.at(-1)).toBe(5_000);
    expect(world.timers.size).toBe(1); // the heartbeat
  });

  it('begins with small steps again after a page, or after it was live for 5 s', async () => {
    for (const prove of ['page', 'time']) {
      const world = new World();
      const { client } = await live(world);
      world.socket.end();
      await waits(world, 6);
      await world.pass(3_200);
      world.socket.welcome();
      if (prove === 'page') world.socket.push(pageFrame({ tag: 9 }));
      else await world.pass(5_000);
      world.socket.end();
      expect(client.connection.retryAt).toBe(world.time + 50);
    }
  });

  it('tells since when, and why', async () => {
    const world = new World();
    const { client } = await live(world);
    world.time += 100;
    world.socket.end(1012, 'restart');
    expect(client.connection).toMatchObject({ since: world.time, reason: { condition: 'SERVER_RESTARTS' } });
    const { since } = client.connection;
    await waits(world, 3);
    expect(client.connection.since).toBe(since);
  });

  it('is tried again at once when the tab is seen or the network returns, once for many such events', async () => {
    const world = new World();
    const { client } = await live(world);
    world.socket.end();
    await waits(world, 7);
    expect(client.connection.retryAt).toBe(world.time + 5_000);
    for (let event = 0; event < 100; event++) world.return();
    await settle();
    for (let event = 0; event < 100; event++) world.return();
    await settle();
    expect(world.open).toHaveLength(1);
    expect(world.sockets).toHaveLength(9);
    expect(client.connection).toMatchObject({ state: 'reconnecting', retryAt: null });
  });

  it('gives up a socket that hangs when the network returns', async () => {
    const world = new World();
    await live(world);
    world.socket.end();
    await world.pass(50);
    await world.pass(999);
    world.return();
    await settle();
    expect(world.sockets).toHaveLength(2);
    await world.pass(1);
    world.return();
    await settle();
    expect(world.sockets).toHaveLength(3);
    expect(world.open).toHaveLength(1);
  });

  it('gives up a socket that does not open within 10 s', async () => {
    const world = new World();
    const client = world.client();
    client.subscribe('t', {}, viewer());
    await world.pass(9_999);
    expect(client.connection).toMatchObject({ state: 'connecting', attempts: 0 });
    await world.pass(1);
    expect(client.connection).toMatchObject({ state: 'reconnecting', attempts: 1 });
    expect(world.open).toHaveLength(0);
  });

  it('is replaced over a frame that cannot be read, not every 50 ms', async () => {
    const bad = [
      'no JSON',
      '[]',
      'null',
      '{"type": 1}',
      new ArrayBuffer(3),
      JSON.stringify({ type: 'page', id: '1', tag: 2 }),
      JSON.stringify(pageFrame({ tag: '2' })),
      JSON.stringify(pageFrame({ tag: 2, rows: [['too short']] })),
      JSON.stringify(pageFrame({ tag: 2, rows: {} })),
      JSON.stringify(pageFrame({ tag: 2, columns: [1, 2] })),
      JSON.stringify(pageFrame({ tag: 2, version: null })),
      JSON.stringify(pageFrame({ tag: 2, missing: 'x' })),
      JSON.stringify(pageFrame({ id: 1 })),
      JSON.stringify({ type: 'error', id: '1', tag: 2 }),
      JSON.stringify({ ...pageFrame({ tag: 2 }), type: 'patch', splice: 3 }),
    ];
    const world = new World();
    const { client, subscription } = await live(world);
    world.socket.push(pageFrame({ tag: 2 }));
    const page = subscription.page;
    const found: number[] = [];
    for (const data of bad) {
      const { socket } = world;
      socket.pushRaw(data);
      expect(socket.isClosed, String(data)).toBe(true);
      expect(client.connection).toMatchObject({
        state: 'reconnecting',
        reason: { condition: 'SERVER_ANSWER' },
      });
      found.push((client.connection.retryAt ?? 0) - world.time);
      await world.pass(5_000);
      world.socket.welcome();
    }
    expect(found.slice(0, 4)).toEqual([50, 100, 200, 400]);
    expect(found.at(-1)).toBe(5_000);
    expect(subscription.page).toBe(page);
  });

  it('is replaced when a person asks, also while it is live, and all subscribe again', async () => {
    const world = new World();
    const { client, seen } = await live(world);
    const [old] = world.sockets;
    client.reconnect();
    expect(old?.isClosed).toBe(true);
    expect(client.connection).toMatchObject({ state: 'reconnecting', retryAt: null, reason: null });
    await settle();
    world.socket.welcome();
    expect(world.socket.sentOf('subscribe')).toHaveLength(1);
    expect(seen.map(({ state }) => state)).toEqual(['connecting', 'live', 'reconnecting', 'live']);
  });

  it('is replaced once by many who ask at once', async () => {
    const world = new World();
    const { client } = await live(world);
    for (let ask = 0; ask < 100; ask++) client.reconnect();
    await settle();
    expect(world.sockets).toHaveLength(2);
    expect(world.open).toHaveLength(1);
  });

  it('does not listen to the socket that was replaced', async () => {
    const world = new World();
    const { client } = await live(world);
    const [old] = world.sockets;
    client.reconnect();
    await settle();
    world.socket.welcome();
    expect([old?.onopen, old?.onmessage, old?.onclose]).toEqual([null, null, null]);
  });

  it('says so where the browser opens no socket', async () => {
    const world = new World();
    world.socketFails = new Error('mixed content.');
    const client = world.client();
    client.subscribe('t', {}, viewer());
    await settle();
    expect(client.connection).toMatchObject({ state: 'reconnecting', attempts: 1 });
    expect(client.connection.reason?.message).toBe(
      'The browser opens no WebSocket to http://server: mixed content.',
    );
  });
});
