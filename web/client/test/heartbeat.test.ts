import { describe, expect, it } from 'vitest';
import { Heartbeat } from '../src/heartbeat';
import { FakePlatform, live, pageFrame } from './fake-platform';

describe('a heartbeat', () => {
  it('pings after 5 s of silence, and gives up after 5 s more', () => {
    const heartbeat = new Heartbeat(0);
    expect(heartbeat.check(4_999)).toBe('wait');
    expect(heartbeat.untilCheck(4_999)).toBe(1);
    expect(heartbeat.check(5_000)).toBe('ping');
    expect(heartbeat.untilCheck(5_000)).toBe(5_000);
    expect(heartbeat.check(9_999)).toBe('wait');
    expect(heartbeat.check(10_000)).toBe('dead');
  });

  it('is reset by any frame', () => {
    const heartbeat = new Heartbeat(0);
    heartbeat.check(5_000);
    heartbeat.received(9_000);
    expect(heartbeat.check(10_000)).toBe('wait');
    expect(heartbeat.check(14_000)).toBe('ping');
  });

  it('pings once more after a late check, and then gives up', () => {
    const heartbeat = new Heartbeat(0);
    heartbeat.check(5_000);
    expect(heartbeat.check(11_000)).toBe('ping');
    expect(heartbeat.check(15_999)).toBe('wait');
    expect(heartbeat.check(76_000)).toBe('dead');
  });

  it('allows another late check after a frame', () => {
    const heartbeat = new Heartbeat(0);
    heartbeat.check(5_000);
    heartbeat.check(60_000);
    heartbeat.received(60_001);
    heartbeat.check(65_001);
    expect(heartbeat.check(90_000)).toBe('ping');
  });

  it('pings at once on request, but not twice', () => {
    const heartbeat = new Heartbeat(0);
    expect(heartbeat.startPing(100)).toBe(true);
    expect(heartbeat.startPing(200)).toBe(false);
    expect(heartbeat.check(5_100)).toBe('dead');
  });

  it('does not wait for hours if the clock is set back', () => {
    const heartbeat = new Heartbeat(1_000_000);
    expect(heartbeat.untilCheck(1_000)).toBe(5_000);
    expect(heartbeat.check(6_000)).toBe('ping');
    expect(heartbeat.untilCheck(2_000)).toBe(5_000);
    expect(heartbeat.check(7_000)).toBe('dead');
  });
});

describe('a silent socket', () => {
  it('is pinged, becomes stale without an answer, and is replaced at once', async () => {
    const platform = new FakePlatform();
    const { client, seen } = await live(platform);
    const [old] = platform.sockets;
    await platform.pass(4_999);
    expect(old?.sentOf('ping')).toEqual([]);
    await platform.pass(1);
    expect(old?.sentOf('ping')).toEqual([{ type: 'ping', tag: 1 }]);
    await platform.pass(4_999);
    expect(client.connection.state).toBe('live');
    await platform.pass(1);
    expect(client.connection).toMatchObject({ state: 'stale', retryAt: null, attempts: 0 });
    expect(client.connection.reason?.condition).toBe('SERVER_SILENT');
    expect(old?.isClosed).toBe(true);
    expect(platform.open).toHaveLength(1);
    platform.socket.welcome();
    expect(seen.map(({ state }) => state)).toEqual(['connecting', 'live', 'stale', 'live']);
    expect(client.connection.reason).toBeNull();
  });

  it('becomes reconnecting if the next one fails, too', async () => {
    const platform = new FakePlatform();
    const { client } = await live(platform);
    await platform.pass(10_000);
    platform.socket.end();
    await platform.pass(0);
    expect(client.connection).toMatchObject({ state: 'reconnecting', attempts: 1 });
  });

  it('stays live as long as it answers', async () => {
    const platform = new FakePlatform();
    const { client } = await live(platform);
    for (let round = 1; round <= 50; round++) {
      await platform.pass(5_000);
      expect(platform.socket.sentOf('ping')).toHaveLength(round);
      platform.socket.push({ type: 'pong', tag: round });
    }
    expect(client.connection.state).toBe('live');
    expect(platform.sockets).toHaveLength(1);
  });

  it('is not pinged while frames arrive', async () => {
    const platform = new FakePlatform();
    await live(platform);
    for (let version = 0; version < 50; version++) {
      platform.socket.push(pageFrame({ tag: 2, version }));
      await platform.pass(1_000);
    }
    expect(platform.socket.sentOf('ping')).toEqual([]);
  });

  it('is pinged after sleep, and not given up before it could answer', async () => {
    const platform = new FakePlatform();
    const { client } = await live(platform);
    await platform.pass(5_000); // asked
    await platform.sleep(3_600_000);
    expect(client.connection.state).toBe('live');
    expect(platform.socket.sentOf('ping')).toHaveLength(2);
    platform.socket.push({ type: 'pong', tag: 1 });
    await platform.pass(4_000);
    expect(client.connection.state).toBe('live');
  });

  it('is detected in a background tab whose timers fire once a minute', async () => {
    const platform = new FakePlatform();
    const { client } = await live(platform);
    const states: string[] = [];
    for (let minute = 0; minute < 3; minute++) {
      await platform.sleep(60_000);
      states.push(client.connection.state);
    }
    expect(states).toEqual(['live', 'live', 'stale']);
  });

  it('is pinged at once when the tab becomes visible, once for many events', async () => {
    const platform = new FakePlatform();
    const { client } = await live(platform);
    await platform.pass(2_000);
    for (let event = 0; event < 100; event++) platform.return();
    expect(platform.socket.sentOf('ping')).toEqual([{ type: 'ping', tag: 1 }]);
    expect(platform.timers.size).toBe(1);
    await platform.pass(4_999);
    expect(client.connection.state).toBe('live');
    await platform.pass(1);
    expect(client.connection.state).toBe('stale');
  });

  it('is given up if it opened and sent nothing', async () => {
    const platform = new FakePlatform();
    const client = platform.client();
    client.subscribe('final_ui', {}, { page: () => {} });
    await platform.pass(0);
    platform.socket.open();
    await platform.pass(10_000);
    expect(client.connection).toMatchObject({ state: 'reconnecting', attempts: 1 });
    expect(platform.fetched).toEqual([]);
  });
});
