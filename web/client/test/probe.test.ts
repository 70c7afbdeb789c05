import { describe, expect, it } from 'vitest';
import { answer, live, settle, viewer, World } from './world';

describe('a socket that never opened', () => {
  it('is asked after over HTTP with the token', async () => {
    const world = new World();
    const client = world.client({ token: 'abc' });
    client.subscribe('t', {}, viewer());
    await settle();
    world.fetch = async () => answer(200, { tables: [] });
    world.socket.end();
    await settle();
    expect(world.fetched).toHaveLength(1);
    expect(world.fetched[0]?.url).toBe('http://server/api/tables');
    expect(new Headers(world.fetched[0]?.init.headers).get('Authorization')).toBe('Bearer abc');
    expect(client.connection).toMatchObject({
      state: 'reconnecting',
      reason: { condition: 'SOCKET_REFUSED' },
    });
  });

  it('passes on what the server says', async () => {
    const world = new World();
    const client = world.client();
    client.subscribe('t', {}, viewer());
    await settle();
    world.fetch = async () => answer(503, { condition: 'NOT_READY', message: 'Soon.' });
    world.socket.end();
    await settle();
    const reason = { condition: 'NOT_READY', message: 'Soon.', status: 503 };
    expect(client.connection).toMatchObject({ state: 'reconnecting', reason });
    world.fetch = async () => answer(502);
    await world.pass(50);
    world.socket.end();
    await settle();
    expect(client.connection.reason).toEqual({
      condition: 'SERVER_ANSWER',
      message: 'http://server answers 502.',
      status: 502,
    });
  });

  it('is not waited for longer than 5 s, and what comes later is not heard', async () => {
    const world = new World();
    const client = world.client();
    client.subscribe('t', {}, viewer());
    await settle();
    let late: (response: Response) => void = () => {};
    world.fetch = () => new Promise((resolve) => (late = resolve));
    world.socket.end();
    await world.pass(4_999);
    expect(client.connection).toMatchObject({ state: 'connecting', attempts: 0 });
    await world.pass(1);
    expect(client.connection).toMatchObject({ state: 'reconnecting', attempts: 1 });
    expect(client.connection.reason?.message).toContain('not in time');
    expect(world.fetched[0]?.init.signal?.aborted).toBe(true);
    late(answer(401, { condition: 'TOKEN_WRONG', message: '' }));
    await settle();
    expect(client.connection.state).toBe('reconnecting');
  });

  it('is tried again when the network returns, if its answer hangs', async () => {
    const world = new World();
    const client = world.client();
    client.subscribe('t', {}, viewer());
    await settle();
    world.fetch = () => new Promise(() => {});
    world.socket.end();
    world.return();
    await world.pass(999);
    expect(world.sockets).toHaveLength(1);
    await world.pass(1);
    world.return();
    await settle();
    expect(world.sockets).toHaveLength(2);
    expect(world.timers.size).toBe(1); // for the socket to open
  });

  it('within 10 s is closed before it is asked after, and cannot open any more', async () => {
    const world = new World();
    const client = world.client();
    client.subscribe('t', {}, viewer());
    world.fetch = () => new Promise(() => {});
    await world.pass(10_000);
    expect(world.fetched).toHaveLength(1);
    expect(world.open).toHaveLength(0);
    expect(world.socket.onopen).toBeNull();
    expect(world.timers.size).toBe(1); // for the answer
  });

  it('is not asked after where it did open', async () => {
    const world = new World();
    await live(world);
    world.socket.end();
    await settle();
    expect(world.fetched).toEqual([]);
  });
});
