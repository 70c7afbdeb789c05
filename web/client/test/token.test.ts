import { describe, expect, it } from 'vitest';
import type { Token } from '../src/types';
import { bearer, later, live, settle, viewer, World } from './world';

describe('a token function', () => {
  it('is asked at each attempt', async () => {
    const world = new World();
    let count = 0;
    await live(world, { token: async () => `token${++count}` });
    for (const wait of [50, 100, 200]) {
      expect(bearer(world)).toBe(`token${count}`);
      world.socket.end();
      await world.pass(wait);
    }
    expect(count).toBe(4);
  });

  it('that is slow is waited for, and asked once, whatever happens meanwhile', async () => {
    const world = new World();
    const answers = [later<string>()];
    let count = 0;
    const client = world.client({
      token: () => {
        count++;
        return answers[count - 1]?.promise ?? 'next';
      },
    });
    client.subscribe('t', {}, viewer());
    for (let minute = 0; minute < 3; minute++) {
      world.return();
      client.subscribe('t', {}, viewer());
      await world.pass(60_000);
    }
    expect(count).toBe(1);
    expect(world.sockets).toHaveLength(0);
    answers[0]?.resolve('slow');
    await settle();
    expect(bearer(world)).toBe('slow');
    expect(world.sockets).toHaveLength(1);
  });

  it('is asked once more after its answer if a person asked for a new attempt meanwhile', async () => {
    const world = new World();
    const answers = [later<string>(), later<string>()];
    let count = 0;
    const client = world.client({ token: () => answers[count++]?.promise ?? null });
    client.subscribe('t', {}, viewer());
    for (let ask = 0; ask < 10; ask++) client.reconnect();
    await settle();
    expect(count).toBe(1);
    answers[0]?.resolve('old');
    await settle();
    expect(count).toBe(2);
    expect(world.sockets).toHaveLength(0);
    answers[1]?.resolve('new');
    await settle();
    expect(world.sockets).toHaveLength(1);
    expect(bearer(world)).toBe('new');
  });

  it('is asked once more, too, if the answer that was out of date was a failure', async () => {
    const world = new World();
    const first = later<string>();
    let count = 0;
    const client = world.client({ token: () => (count++ ? 'good' : first.promise) });
    client.subscribe('t', {}, viewer());
    client.reconnect();
    first.reject(new Error('no'));
    await settle();
    expect(bearer(world)).toBe('good');
  });

  it('that fails is a failed attempt with a reason', async () => {
    const failing: Token[] = [
      () => {
        throw new Error('no session');
      },
      () => Promise.reject(new Error('no session')),
    ];
    for (const token of failing) {
      const world = new World();
      const client = world.client({ token });
      client.subscribe('t', {}, viewer());
      await settle();
      expect(client.connection).toMatchObject({
        state: 'reconnecting',
        attempts: 1,
        retryAt: world.time + 50,
      });
      expect(client.connection.reason).toEqual({
        condition: 'TOKEN_FAILED',
        message: 'There is no token to show: no session.',
      });
      await world.pass(50);
      expect(client.connection.attempts).toBe(2);
      expect(world.sockets).toHaveLength(0);
    }
  });
});
