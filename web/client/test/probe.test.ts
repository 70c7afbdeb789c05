import { describe, expect, it } from 'vitest';
import { answer, FakePlatform, live, settle, viewer } from './fake-platform';

describe('a socket that never opened', () => {
  it('is probed over HTTP with the token', async () => {
    const platform = new FakePlatform();
    const client = platform.client({ token: 'abc' });
    client.subscribe('t', {}, viewer());
    await settle();
    platform.fetch = async () => answer(200, { tables: [] });
    platform.socket.end();
    await settle();
    expect(platform.fetched).toHaveLength(1);
    expect(platform.fetched[0]?.url).toBe('http://server/api/tables');
    expect(new Headers(platform.fetched[0]?.init.headers).get('Authorization')).toBe('Bearer abc');
    expect(client.connection).toMatchObject({
      state: 'reconnecting',
      reason: { condition: 'SOCKET_REFUSED' },
    });
  });

  it('reports the answer of the server', async () => {
    const platform = new FakePlatform();
    const client = platform.client();
    client.subscribe('t', {}, viewer());
    await settle();
    platform.fetch = async () => answer(503, { condition: 'NOT_READY', message: 'Soon.' });
    platform.socket.end();
    await settle();
    const reason = { condition: 'NOT_READY', message: 'Soon.', status: 503 };
    expect(client.connection).toMatchObject({ state: 'reconnecting', reason });
    platform.fetch = async () => answer(502);
    await platform.pass(50);
    platform.socket.end();
    await settle();
    expect(client.connection.reason).toEqual({
      condition: 'SERVER_ANSWER',
      message: 'http://server answers 502.',
      status: 502,
    });
  });

  it('is probed for at most 5 s, and a later answer is dropped', async () => {
    const platform = new FakePlatform();
    const client = platform.client();
    client.subscribe('t', {}, viewer());
    await settle();
    let late: (response: Response) => void = () => {};
    platform.fetch = () => new Promise((resolve) => (late = resolve));
    platform.socket.end();
    await platform.pass(4_999);
    expect(client.connection).toMatchObject({ state: 'connecting', attempts: 0 });
    await platform.pass(1);
    expect(client.connection).toMatchObject({ state: 'reconnecting', attempts: 1 });
    expect(client.connection.reason?.message).toContain('timed out');
    expect(platform.fetched[0]?.init.signal?.aborted).toBe(true);
    late(answer(401, { condition: 'TOKEN_WRONG', message: '' }));
    await settle();
    expect(client.connection.state).toBe('reconnecting');
  });

  it('is retried when the network returns while the probe hangs', async () => {
    const platform = new FakePlatform();
    const client = platform.client();
    client.subscribe('t', {}, viewer());
    await settle();
    platform.fetch = () => new Promise(() => {});
    platform.socket.end();
    platform.return();
    await platform.pass(999);
    expect(platform.sockets).toHaveLength(1);
    await platform.pass(1);
    platform.return();
    await settle();
    expect(platform.sockets).toHaveLength(2);
    expect(platform.timers.size).toBe(1); // for the socket to open
  });

  it('is closed after 10 s, before the probe, and cannot open later', async () => {
    const platform = new FakePlatform();
    const client = platform.client();
    client.subscribe('t', {}, viewer());
    platform.fetch = () => new Promise(() => {});
    await platform.pass(10_000);
    expect(platform.fetched).toHaveLength(1);
    expect(platform.open).toHaveLength(0);
    expect(platform.socket.onopen).toBeNull();
    expect(platform.timers.size).toBe(1); // for the answer
  });

  it('is not probed if it did open', async () => {
    const platform = new FakePlatform();
    await live(platform);
    platform.socket.end();
    await settle();
    expect(platform.fetched).toEqual([]);
  });
});
