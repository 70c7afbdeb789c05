import { describe, expect, it } from 'vitest';
import { FakePlatform, live, pageFrame, settle, viewer } from './fake-platform';

/** How long it takes until there is another socket. */
async function nextSocket(platform: FakePlatform): Promise<number> {
  const [before, count] = [platform.time, platform.sockets.length];
  while (platform.sockets.length === count && platform.time < before + 10_000) await platform.pass(10);
  return platform.time - before;
}

async function waits(platform: FakePlatform, count: number): Promise<number[]> {
  const found: number[] = [];
  for (let round = 0; round < count; round++) {
    found.push(await nextSocket(platform));
    platform.socket.end();
    await settle();
  }
  return found;
}

describe('a lost connection', () => {
  it('is retried without end, with growing delays', async () => {
    const platform = new FakePlatform();
    const { client, seen } = await live(platform);
    await platform.pass(5_000);
    platform.socket.end();
    expect(client.connection).toMatchObject({
      state: 'reconnecting',
      attempts: 0,
      retryAt: platform.time + 50,
    });
    expect(await waits(platform, 10)).toEqual([50, 100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000]);
    expect(client.connection.attempts).toBe(10);
    expect(client.connection.reason).toMatchObject({ condition: 'SERVER_UNREACHABLE' });
    expect(client.connection.reason?.message).toBe('http://server does not answer: Failed to fetch.');
    await platform.pass(5_000);
    expect(client.connection.retryAt).toBeNull();
    platform.socket.welcome();
    expect(client.connection).toMatchObject({ state: 'live', attempts: 0, retryAt: null, reason: null });
    expect(new Set(seen.map(({ state }) => state))).toEqual(new Set(['connecting', 'live', 'reconnecting']));
  });

  it('keeps its growing delays if sockets open and close at once', async () => {
    const platform = new FakePlatform();
    await live(platform);
    const found: number[] = [];
    for (let round = 0; round < 100; round++) {
      platform.socket.end(1012);
      found.push(await nextSocket(platform));
      platform.socket.welcome();
      expect(platform.open).toHaveLength(1);
    }
    expect(found.slice(0, 8)).toEqual([50, 100, 200, 400, 800, 1600, 3200, 5000]);
    expect(found.at(-1)).toBe(5_000);
    expect(platform.timers.size).toBe(1); // the heartbeat
  });

  it('starts again with short delays after a page, or after 5 s of being live', async () => {
    for (const prove of ['page', 'time']) {
      const platform = new FakePlatform();
      const { client } = await live(platform);
      platform.socket.end();
      await waits(platform, 6);
      await platform.pass(3_200);
      platform.socket.welcome();
      if (prove === 'page') platform.socket.push(pageFrame({ tag: 9 }));
      else await platform.pass(5_000);
      platform.socket.end();
      expect(client.connection.retryAt).toBe(platform.time + 50);
    }
  });

  it('reports since when and why', async () => {
    const platform = new FakePlatform();
    const { client } = await live(platform);
    platform.time += 100;
    platform.socket.end(1012, 'restart');
    expect(client.connection).toMatchObject({
      since: platform.time,
      reason: { condition: 'SERVER_RESTARTS' },
    });
    const { since } = client.connection;
    await waits(platform, 3);
    expect(client.connection.since).toBe(since);
  });

  it('is retried at once when the tab becomes visible or the network returns, once for many events', async () => {
    const platform = new FakePlatform();
    const { client } = await live(platform);
    platform.socket.end();
    await waits(platform, 7);
    expect(client.connection.retryAt).toBe(platform.time + 5_000);
    for (let event = 0; event < 100; event++) platform.return();
    await settle();
    for (let event = 0; event < 100; event++) platform.return();
    await settle();
    expect(platform.open).toHaveLength(1);
    expect(platform.sockets).toHaveLength(9);
    expect(client.connection).toMatchObject({ state: 'reconnecting', retryAt: null });
  });

  it('replaces a socket that hangs when the network returns', async () => {
    const platform = new FakePlatform();
    await live(platform);
    platform.socket.end();
    await platform.pass(50);
    await platform.pass(999);
    platform.return();
    await settle();
    expect(platform.sockets).toHaveLength(2);
    await platform.pass(1);
    platform.return();
    await settle();
    expect(platform.sockets).toHaveLength(3);
    expect(platform.open).toHaveLength(1);
  });

  it('replaces a socket that does not open within 10 s', async () => {
    const platform = new FakePlatform();
    const client = platform.client();
    client.subscribe('t', {}, viewer());
    await platform.pass(9_999);
    expect(client.connection).toMatchObject({ state: 'connecting', attempts: 0 });
    await platform.pass(1);
    expect(client.connection).toMatchObject({ state: 'reconnecting', attempts: 1 });
    expect(platform.open).toHaveLength(0);
  });

  it('is replaced after an invalid frame, but not every 50 ms', async () => {
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
    const platform = new FakePlatform();
    const { client, subscription } = await live(platform);
    platform.socket.push(pageFrame({ tag: 2 }));
    const page = subscription.page;
    const found: number[] = [];
    for (const data of bad) {
      const { socket } = platform;
      socket.pushRaw(data);
      expect(socket.isClosed, String(data)).toBe(true);
      expect(client.connection).toMatchObject({
        state: 'reconnecting',
        reason: { condition: 'SERVER_ANSWER' },
      });
      found.push((client.connection.retryAt ?? 0) - platform.time);
      await platform.pass(5_000);
      platform.socket.welcome();
    }
    expect(found.slice(0, 4)).toEqual([50, 100, 200, 400]);
    expect(found.at(-1)).toBe(5_000);
    expect(subscription.page).toBe(page);
  });

  it('is replaced on request, even while it is live, and all subscribe again', async () => {
    const platform = new FakePlatform();
    const { client, seen } = await live(platform);
    const [old] = platform.sockets;
    client.reconnect();
    expect(old?.isClosed).toBe(true);
    expect(client.connection).toMatchObject({ state: 'reconnecting', retryAt: null, reason: null });
    await settle();
    platform.socket.welcome();
    expect(platform.socket.sentOf('subscribe')).toHaveLength(1);
    expect(seen.map(({ state }) => state)).toEqual(['connecting', 'live', 'reconnecting', 'live']);
  });

  it('is replaced once for many requests at the same time', async () => {
    const platform = new FakePlatform();
    const { client } = await live(platform);
    for (let ask = 0; ask < 100; ask++) client.reconnect();
    await settle();
    expect(platform.sockets).toHaveLength(2);
    expect(platform.open).toHaveLength(1);
  });

  it('ignores the socket that was replaced', async () => {
    const platform = new FakePlatform();
    const { client } = await live(platform);
    const [old] = platform.sockets;
    client.reconnect();
    await settle();
    platform.socket.welcome();
    expect([old?.onopen, old?.onmessage, old?.onclose]).toEqual([null, null, null]);
  });

  it('reports that the browser cannot open a socket', async () => {
    const platform = new FakePlatform();
    platform.socketFails = new Error('mixed content.');
    const client = platform.client();
    client.subscribe('t', {}, viewer());
    await settle();
    expect(client.connection).toMatchObject({ state: 'reconnecting', attempts: 1 });
    expect(client.connection.reason?.message).toBe(
      'The browser could not open a WebSocket to http://server: mixed content.',
    );
  });
});
