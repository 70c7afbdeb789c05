import { describe, expect, it } from 'vitest';
import { FakePlatform, live, pageFrame, settle, states, viewer } from './fake-platform';

describe('a client without subscriptions', () => {
  it('closes its socket 5 s after the last subscription, and opens another with the next', async () => {
    const platform = new FakePlatform();
    const { client, seen, subscription } = await live(platform);
    const second = client.subscribe('t', {}, viewer());
    subscription.dispose();
    await platform.pass(6_000);
    platform.socket.push({ type: 'pong', tag: 1 });
    second.dispose();
    second.dispose();
    expect(platform.socket.sentOf('unsubscribe')).toEqual([
      { type: 'unsubscribe', id: '1' },
      { type: 'unsubscribe', id: '2' },
    ]);
    await platform.pass(4_999);
    expect(platform.open).toHaveLength(1);
    await platform.pass(1);
    expect(platform.left).toBe(0);
    expect(client.connection).toMatchObject({ state: 'connecting', attempts: 0, reason: null });
    client.subscribe('t', {}, viewer());
    await settle();
    platform.socket.welcome();
    expect(platform.sockets).toHaveLength(2);
    expect(platform.socket.sentOf('subscribe')).toHaveLength(1);
    expect(seen.map(({ state }) => state)).toEqual(['connecting', 'live', 'connecting', 'live']);
  });

  it('keeps the socket if a subscription follows soon', async () => {
    const platform = new FakePlatform();
    const { client, subscription } = await live(platform);
    subscription.dispose();
    await platform.pass(4_000);
    platform.socket.push({ type: 'pong', tag: 0 });
    client.subscribe('t', {}, viewer());
    expect(platform.socket.sent.at(-1)).toMatchObject({ type: 'subscribe', id: '2' });
    await platform.pass(4_000);
    expect(platform.open).toHaveLength(1);
    expect(platform.sockets).toHaveLength(1);
  });

  it('stops reconnecting', async () => {
    const platform = new FakePlatform();
    const { client, subscription } = await live(platform);
    platform.socket.end();
    subscription.dispose();
    await platform.pass(50);
    expect(platform.sockets).toHaveLength(1);
    expect(client.connection.state).toBe('connecting');
    expect(platform.left).toBe(0);
    client.reconnect();
    await platform.pass(60_000);
    expect(platform.left).toBe(0);
  });
});

describe('onConnection', () => {
  it('calls back at once and at every change, until it is stopped', async () => {
    const platform = new FakePlatform();
    const client = platform.client();
    const calls: string[] = [];
    const call = ({ state }: { state: string }) => calls.push(state);
    const stops = [client.onConnection(call), client.onConnection(call)];
    expect(calls).toEqual(['connecting', 'connecting']);
    stops[0]?.();
    client.subscribe('t', {}, viewer());
    await settle();
    platform.socket.welcome();
    stops[1]?.();
    client.dispose();
    expect(calls).toEqual(['connecting', 'connecting', 'live']);
  });

  it('reports no older state after a newer one, also if a listener changes it', async () => {
    const platform = new FakePlatform();
    const client = platform.client();
    client.onConnection(({ state }) => {
      if (state === 'live') client.reconnect();
    });
    const seen = states(client);
    const subscription = client.subscribe('t', {}, viewer());
    await settle();
    platform.socket.open().push(pageFrame({ tag: 2 }));
    expect(seen.map(({ state }) => state)).toEqual(['connecting', 'reconnecting']);
    expect(subscription.page).toBeNull(); // it came on a socket that was replaced by then
    expect(platform.open).toHaveLength(0);
    await settle();
    expect(platform.open).toHaveLength(1);
  });
});
