import { describe, expect, it } from 'vitest';
import type { Token } from '../src/types';
import { answer, bearer, FakePlatform, later, live, settle, states, viewer } from './fake-platform';

const WRONG = { condition: 'TOKEN_WRONG', message: 'The token is not the server’s.' };

/** A client whose token the server refuses. */
async function refused(platform: FakePlatform, token: Token, status = 401, body: unknown = WRONG) {
  const client = platform.client({ token });
  const seen = states(client);
  const subscription = client.subscribe('t', {}, viewer());
  platform.fetch = async () => answer(status, body);
  await settle();
  platform.socket.end();
  await settle();
  return { client, seen, subscription };
}

describe('a refused connection', () => {
  it('reports why, and is not retried', async () => {
    for (const status of [401, 403]) {
      const platform = new FakePlatform();
      const { client, seen } = await refused(platform, 'wrong', status);
      const reason = { ...WRONG, status };
      expect(client.connection).toMatchObject({ state: 'refused', retryAt: null, attempts: 1, reason });
      platform.return();
      await platform.pass(3_600_000);
      expect(platform.sockets).toHaveLength(1);
      expect(platform.timers.size).toBe(0);
      expect(seen.map(({ state }) => state)).toEqual(['connecting', 'refused']);
    }
  });

  it('has a reason even if the refusal is not the server’s own', async () => {
    const { client } = await refused(new FakePlatform(), 'wrong', 403, null);
    expect(client.connection.reason).toEqual({
      condition: 'ACCESS_DENIED',
      message: 'http://server answers 403.',
      status: 403,
    });
  });

  it('is retried on request', async () => {
    const platform = new FakePlatform();
    const { client, seen } = await refused(platform, 'wrong');
    client.reconnect();
    await settle();
    expect(platform.sockets).toHaveLength(2);
    platform.socket.welcome();
    expect(seen.map(({ state }) => state)).toEqual(['connecting', 'refused', 'connecting', 'live']);
    expect(client.connection).toMatchObject({ attempts: 0, reason: null });
  });

  it('polls the token function every 5 s, and is retried with another token', async () => {
    const platform = new FakePlatform();
    let token = 'old';
    let count = 0;
    const { client } = await refused(platform, () => {
      count++;
      return token;
    });
    await platform.pass(4_999);
    expect(count).toBe(1);
    await platform.pass(10_001);
    expect(count).toBe(4);
    expect(client.connection.state).toBe('refused');
    expect(platform.sockets).toHaveLength(1);
    token = 'new';
    await platform.pass(5_000);
    expect(count).toBe(5);
    expect(platform.sockets).toHaveLength(2);
    expect(bearer(platform)).toBe('new');
    platform.socket.welcome();
    expect(client.connection.state).toBe('live');
  });

  it('polls the token function at once when the tab becomes visible', async () => {
    const platform = new FakePlatform();
    let token = 'old';
    const { client } = await refused(platform, () => token);
    platform.return();
    await settle();
    expect(client.connection.state).toBe('refused');
    expect(platform.timers.size).toBe(1);
    token = 'new';
    for (let event = 0; event < 100; event++) platform.return();
    await settle();
    expect(bearer(platform)).toBe('new');
    expect(platform.sockets).toHaveLength(2);
  });

  it('continues to poll a token function that fails', async () => {
    const platform = new FakePlatform();
    let count = 0;
    const { client } = await refused(platform, () => {
      if (++count === 2) throw new Error('not now');
      return count < 4 ? 'old' : 'new';
    });
    await platform.pass(10_000);
    expect(client.connection.state).toBe('refused');
    await platform.pass(5_000);
    expect(platform.sockets).toHaveLength(2);
  });

  it('is retried on request while the token function is slow, even with the same token', async () => {
    const platform = new FakePlatform();
    const slow = later<string>();
    let count = 0;
    const { client } = await refused(platform, () => (++count === 2 ? slow.promise : 'old'));
    await platform.pass(5_000);
    client.reconnect();
    await platform.pass(60_000);
    expect(count).toBe(2);
    slow.resolve('old');
    await settle();
    expect(count).toBe(3);
    expect(platform.sockets).toHaveLength(2);
  });

  it('follows from a token that no server can have', async () => {
    for (const token of ['two words', 'line\n', 'schlüssel', '“quoted”']) {
      const platform = new FakePlatform();
      const client = platform.client({ token });
      client.subscribe('t', {}, viewer());
      await settle();
      expect(client.connection).toMatchObject({ state: 'refused', reason: { condition: 'TOKEN_WRONG' } });
      expect(platform.sockets).toHaveLength(0);
    }
  });

  it('may follow an attempt to reconnect, also after silence', async () => {
    for (const silent of [false, true]) {
      const platform = new FakePlatform();
      const { client } = await live(platform);
      platform.fetch = async () => answer(401, WRONG);
      if (silent) await platform.pass(10_000);
      else platform.socket.end();
      await platform.pass(50);
      platform.socket.end();
      await settle();
      expect(client.connection.state).toBe('refused');
    }
  });

  it('stays when the last subscription ends, until something changes', async () => {
    const platform = new FakePlatform();
    const { client, subscription } = await refused(platform, 'wrong');
    subscription.dispose();
    await platform.pass(60_000);
    expect(client.connection.state).toBe('refused');
    client.subscribe('t', {}, viewer());
    await platform.pass(60_000);
    expect(client.connection.state).toBe('refused');
    expect(platform.sockets).toHaveLength(1);
    client.reconnect();
    await settle();
    expect(platform.sockets).toHaveLength(2);
  });

  it('is forgotten on request without subscriptions', async () => {
    const platform = new FakePlatform();
    const { client, subscription } = await refused(platform, 'wrong');
    subscription.dispose();
    client.reconnect();
    expect(client.connection).toMatchObject({ state: 'connecting', attempts: 0, reason: null });
    await platform.pass(60_000);
    expect(platform.left).toBe(0);
    expect(platform.sockets).toHaveLength(1);
    client.subscribe('t', {}, viewer());
    await settle();
    expect(platform.sockets).toHaveLength(2);
  });

  it('is forgotten with another token and without subscriptions', async () => {
    const platform = new FakePlatform();
    let token = 'old';
    const { client, subscription } = await refused(platform, () => token);
    subscription.dispose();
    token = 'new';
    await platform.pass(5_000);
    expect(client.connection.state).toBe('connecting');
    expect(platform.sockets).toHaveLength(1);
    expect(platform.left).toBe(0);
  });
});
