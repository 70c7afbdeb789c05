import { describe, expect, it } from 'vitest';
import type { Token } from '../src/types';
import { bearer, FakePlatform, later, live, settle, viewer } from './fake-platform';

describe('a token function', () => {
  it('is called at each attempt', async () => {
    const platform = new FakePlatform();
    let count = 0;
    await live(platform, { token: async () => `token${++count}` });
    for (const wait of [50, 100, 200]) {
      expect(bearer(platform)).toBe(`token${count}`);
      platform.socket.end();
      await platform.pass(wait);
    }
    expect(count).toBe(4);
  });

  it('is called once if it is slow, whatever happens meanwhile', async () => {
    const platform = new FakePlatform();
    const answers = [later<string>()];
    let count = 0;
    const client = platform.client({
      token: () => {
        count++;
        return answers[count - 1]?.promise ?? 'next';
      },
    });
    client.subscribe('t', {}, viewer());
    for (let minute = 0; minute < 3; minute++) {
      platform.return();
      client.subscribe('t', {}, viewer());
      await platform.pass(60_000);
    }
    expect(count).toBe(1);
    expect(platform.sockets).toHaveLength(0);
    answers[0]?.resolve('slow');
    await settle();
    expect(bearer(platform)).toBe('slow');
    expect(platform.sockets).toHaveLength(1);
  });

  it('is called once more if a new attempt was requested meanwhile', async () => {
    const platform = new FakePlatform();
    const answers = [later<string>(), later<string>()];
    let count = 0;
    const client = platform.client({ token: () => answers[count++]?.promise ?? null });
    client.subscribe('t', {}, viewer());
    for (let ask = 0; ask < 10; ask++) client.reconnect();
    await settle();
    expect(count).toBe(1);
    answers[0]?.resolve('old');
    await settle();
    expect(count).toBe(2);
    expect(platform.sockets).toHaveLength(0);
    answers[1]?.resolve('new');
    await settle();
    expect(platform.sockets).toHaveLength(1);
    expect(bearer(platform)).toBe('new');
  });

  it('is called once more, too, if the outdated answer was a failure', async () => {
    const platform = new FakePlatform();
    const first = later<string>();
    let count = 0;
    const client = platform.client({ token: () => (count++ ? 'good' : first.promise) });
    client.subscribe('t', {}, viewer());
    client.reconnect();
    first.reject(new Error('no'));
    await settle();
    expect(bearer(platform)).toBe('good');
  });

  it('makes the attempt fail with a reason if it fails', async () => {
    const failing: Token[] = [
      () => {
        throw new Error('no session');
      },
      () => Promise.reject(new Error('no session')),
    ];
    for (const token of failing) {
      const platform = new FakePlatform();
      const client = platform.client({ token });
      client.subscribe('t', {}, viewer());
      await settle();
      expect(client.connection).toMatchObject({
        state: 'reconnecting',
        attempts: 1,
        retryAt: platform.time + 50,
      });
      expect(client.connection.reason).toEqual({
        condition: 'TOKEN_FAILED',
        message: 'The token could not be fetched: no session.',
      });
      await platform.pass(50);
      expect(client.connection.attempts).toBe(2);
      expect(platform.sockets).toHaveLength(0);
    }
  });
});
