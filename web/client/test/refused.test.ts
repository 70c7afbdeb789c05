import { describe, expect, it } from 'vitest';
import type { Token } from '../src/types';
import { answer, bearer, later, live, settle, states, viewer, World } from './world';

const WRONG = { condition: 'TOKEN_WRONG', message: 'The token is not the server’s.' };

/** A client whose token the server refuses. */
async function refused(world: World, token: Token, status = 401, body: unknown = WRONG) {
  const client = world.client({ token });
  const seen = states(client);
  const subscription = client.subscribe('t', {}, viewer());
  world.fetch = async () => answer(status, body);
  await settle();
  world.socket.end();
  await settle();
  return { client, seen, subscription };
}

describe('a refused connection', () => {
  it('says why, and does not try again by itself', async () => {
    for (const status of [401, 403]) {
      const world = new World();
      const { client, seen } = await refused(world, 'wrong', status);
      const reason = { ...WRONG, status };
      expect(client.connection).toMatchObject({ state: 'refused', retryAt: null, attempts: 1, reason });
      world.return();
      await world.pass(3_600_000);
      expect(world.sockets).toHaveLength(1);
      expect(world.timers.size).toBe(0);
      expect(seen.map(({ state }) => state)).toEqual(['connecting', 'refused']);
    }
  });

  it('says something where the refusal is not the server’s own', async () => {
    const { client } = await refused(new World(), 'wrong', 403, null);
    expect(client.connection.reason).toEqual({
      condition: 'ACCESS_DENIED',
      message: 'http://server answers 403.',
      status: 403,
    });
  });

  it('tries again when a person asks', async () => {
    const world = new World();
    const { client, seen } = await refused(world, 'wrong');
    client.reconnect();
    await settle();
    expect(world.sockets).toHaveLength(2);
    world.socket.welcome();
    expect(seen.map(({ state }) => state)).toEqual(['connecting', 'refused', 'connecting', 'live']);
    expect(client.connection).toMatchObject({ attempts: 0, reason: null });
  });

  it('asks a token function every 5 s, and tries again with another token', async () => {
    const world = new World();
    let token = 'old';
    let count = 0;
    const { client } = await refused(world, () => {
      count++;
      return token;
    });
    await world.pass(4_999);
    expect(count).toBe(1);
    await world.pass(10_001);
    expect(count).toBe(4);
    expect(client.connection.state).toBe('refused');
    expect(world.sockets).toHaveLength(1);
    token = 'new';
    await world.pass(5_000);
    expect(count).toBe(5);
    expect(world.sockets).toHaveLength(2);
    expect(bearer(world)).toBe('new');
    world.socket.welcome();
    expect(client.connection.state).toBe('live');
  });

  it('asks a token function at once when the tab is seen again', async () => {
    const world = new World();
    let token = 'old';
    const { client } = await refused(world, () => token);
    world.return();
    await settle();
    expect(client.connection.state).toBe('refused');
    expect(world.timers.size).toBe(1);
    token = 'new';
    for (let event = 0; event < 100; event++) world.return();
    await settle();
    expect(bearer(world)).toBe('new');
    expect(world.sockets).toHaveLength(2);
  });

  it('goes on asking a token function that fails', async () => {
    const world = new World();
    let count = 0;
    const { client } = await refused(world, () => {
      if (++count === 2) throw new Error('not now');
      return count < 4 ? 'old' : 'new';
    });
    await world.pass(10_000);
    expect(client.connection.state).toBe('refused');
    await world.pass(5_000);
    expect(world.sockets).toHaveLength(2);
  });

  it('tries again when a person asks while the token function is slow, with the same token if it must be', async () => {
    const world = new World();
    const slow = later<string>();
    let count = 0;
    const { client } = await refused(world, () => (++count === 2 ? slow.promise : 'old'));
    await world.pass(5_000);
    client.reconnect();
    await world.pass(60_000);
    expect(count).toBe(2);
    slow.resolve('old');
    await settle();
    expect(count).toBe(3);
    expect(world.sockets).toHaveLength(2);
  });

  it('is what a token becomes that no server can have', async () => {
    for (const token of ['two words', 'line\n', 'schlüssel', '“quoted”']) {
      const world = new World();
      const client = world.client({ token });
      client.subscribe('t', {}, viewer());
      await settle();
      expect(client.connection).toMatchObject({ state: 'refused', reason: { condition: 'TOKEN_WRONG' } });
      expect(world.sockets).toHaveLength(0);
    }
  });

  it('may come of an attempt to reconnect, and of one after silence', async () => {
    for (const silent of [false, true]) {
      const world = new World();
      const { client } = await live(world);
      world.fetch = async () => answer(401, WRONG);
      if (silent) await world.pass(10_000);
      else world.socket.end();
      await world.pass(50);
      world.socket.end();
      await settle();
      expect(client.connection.state).toBe('refused');
    }
  });

  it('stays refused when the last subscription ends, until something changes', async () => {
    const world = new World();
    const { client, subscription } = await refused(world, 'wrong');
    subscription.dispose();
    await world.pass(60_000);
    expect(client.connection.state).toBe('refused');
    client.subscribe('t', {}, viewer());
    await world.pass(60_000);
    expect(client.connection.state).toBe('refused');
    expect(world.sockets).toHaveLength(1);
    client.reconnect();
    await settle();
    expect(world.sockets).toHaveLength(2);
  });

  it('is forgotten when a person asks and nobody subscribes', async () => {
    const world = new World();
    const { client, subscription } = await refused(world, 'wrong');
    subscription.dispose();
    client.reconnect();
    expect(client.connection).toMatchObject({ state: 'connecting', attempts: 0, reason: null });
    await world.pass(60_000);
    expect(world.left).toBe(0);
    expect(world.sockets).toHaveLength(1);
    client.subscribe('t', {}, viewer());
    await settle();
    expect(world.sockets).toHaveLength(2);
  });

  it('is forgotten when there is another token and nobody subscribes', async () => {
    const world = new World();
    let token = 'old';
    const { client, subscription } = await refused(world, () => token);
    subscription.dispose();
    token = 'new';
    await world.pass(5_000);
    expect(client.connection.state).toBe('connecting');
    expect(world.sockets).toHaveLength(1);
    expect(world.left).toBe(0);
  });
});
