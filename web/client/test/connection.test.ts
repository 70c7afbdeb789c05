import { describe, expect, it } from 'vitest';
import { live, pageFrame, settle, states, viewer, World } from './world';

describe('a client whom nobody needs', () => {
  it('closes its socket 5 s after the last subscription, and opens another with the next', async () => {
    const world = new World();
    const { client, seen, subscription } = await live(world);
    const second = client.subscribe('t', {}, viewer());
    subscription.dispose();
    await world.pass(6_000);
    world.socket.push({ type: 'pong', tag: 1 });
    second.dispose();
    second.dispose();
    expect(world.socket.sentOf('unsubscribe')).toEqual([
      { type: 'unsubscribe', id: '1' },
      { type: 'unsubscribe', id: '2' },
    ]);
    await world.pass(4_999);
    expect(world.open).toHaveLength(1);
    await world.pass(1);
    expect(world.left).toBe(0);
    expect(client.connection).toMatchObject({ state: 'connecting', attempts: 0, reason: null });
    client.subscribe('t', {}, viewer());
    await settle();
    world.socket.welcome();
    expect(world.sockets).toHaveLength(2);
    expect(world.socket.sentOf('subscribe')).toHaveLength(1);
    expect(seen.map(({ state }) => state)).toEqual(['connecting', 'live', 'connecting', 'live']);
  });

  it('keeps the socket if somebody comes soon', async () => {
    const world = new World();
    const { client, subscription } = await live(world);
    subscription.dispose();
    await world.pass(4_000);
    world.socket.push({ type: 'pong', tag: 0 });
    client.subscribe('t', {}, viewer());
    expect(world.socket.sent.at(-1)).toMatchObject({ type: 'subscribe', id: '2' });
    await world.pass(4_000);
    expect(world.open).toHaveLength(1);
    expect(world.sockets).toHaveLength(1);
  });

  it('does not go on reconnecting', async () => {
    const world = new World();
    const { client, subscription } = await live(world);
    world.socket.end();
    subscription.dispose();
    await world.pass(50);
    expect(world.sockets).toHaveLength(1);
    expect(client.connection.state).toBe('connecting');
    expect(world.left).toBe(0);
    client.reconnect();
    await world.pass(60_000);
    expect(world.left).toBe(0);
  });
});

describe('onConnection', () => {
  it('tells at once and of every change, until it is stopped', async () => {
    const world = new World();
    const client = world.client();
    const calls: string[] = [];
    const call = ({ state }: { state: string }) => calls.push(state);
    const stops = [client.onConnection(call), client.onConnection(call)];
    expect(calls).toEqual(['connecting', 'connecting']);
    stops[0]?.();
    client.subscribe('t', {}, viewer());
    await settle();
    world.socket.welcome();
    stops[1]?.();
    client.dispose();
    expect(calls).toEqual(['connecting', 'connecting', 'live']);
  });

  it('tells no older state after a newer one, also if one who hears changes it', async () => {
    const world = new World();
    const client = world.client();
    client.onConnection(({ state }) => {
      if (state === 'live') client.reconnect();
    });
    const seen = states(client);
    const subscription = client.subscribe('t', {}, viewer());
    await settle();
    world.socket.open().push(pageFrame({ tag: 2 }));
    expect(seen.map(({ state }) => state)).toEqual(['connecting', 'reconnecting']);
    expect(subscription.page).toBeNull(); // it came on a socket that was replaced by then
    expect(world.open).toHaveLength(0);
    await settle();
    expect(world.open).toHaveLength(1);
  });
});
