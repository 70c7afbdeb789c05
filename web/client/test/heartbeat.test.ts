import { describe, expect, it } from 'vitest';
import { Heartbeat } from '../src/heartbeat';
import { live, pageFrame, World } from './world';

describe('a heartbeat', () => {
  it('asks after 5 s of silence, and condemns after 5 s more', () => {
    const heartbeat = new Heartbeat(0);
    expect(heartbeat.look(4_999)).toBe('wait');
    expect(heartbeat.wait(4_999)).toBe(1);
    expect(heartbeat.look(5_000)).toBe('ask');
    expect(heartbeat.wait(5_000)).toBe(5_000);
    expect(heartbeat.look(9_999)).toBe('wait');
    expect(heartbeat.look(10_000)).toBe('dead');
  });

  it('is calmed by anything that comes', () => {
    const heartbeat = new Heartbeat(0);
    heartbeat.look(5_000);
    heartbeat.heard(9_000);
    expect(heartbeat.look(10_000)).toBe('wait');
    expect(heartbeat.look(14_000)).toBe('ask');
  });

  it('asks once more where it looks late, and then condemns', () => {
    const heartbeat = new Heartbeat(0);
    heartbeat.look(5_000);
    expect(heartbeat.look(11_000)).toBe('ask');
    expect(heartbeat.look(15_999)).toBe('wait');
    expect(heartbeat.look(76_000)).toBe('dead');
  });

  it('doubts anew after a sign of life', () => {
    const heartbeat = new Heartbeat(0);
    heartbeat.look(5_000);
    heartbeat.look(60_000);
    heartbeat.heard(60_001);
    heartbeat.look(65_001);
    expect(heartbeat.look(90_000)).toBe('ask');
  });

  it('asks at once if it is told to, but not twice', () => {
    const heartbeat = new Heartbeat(0);
    expect(heartbeat.asks(100)).toBe(true);
    expect(heartbeat.asks(200)).toBe(false);
    expect(heartbeat.look(5_100)).toBe('dead');
  });

  it('does not wait for hours where the clock was set back', () => {
    const heartbeat = new Heartbeat(1_000_000);
    expect(heartbeat.wait(1_000)).toBe(5_000);
    expect(heartbeat.look(6_000)).toBe('ask');
    expect(heartbeat.wait(2_000)).toBe(5_000);
    expect(heartbeat.look(7_000)).toBe('dead');
  });
});

describe('a silent socket', () => {
  it('is asked, is stale without an answer, and is replaced at once', async () => {
    const world = new World();
    const { client, seen } = await live(world);
    const [old] = world.sockets;
    await world.pass(4_999);
    expect(old?.sentOf('ping')).toEqual([]);
    await world.pass(1);
    expect(old?.sentOf('ping')).toEqual([{ type: 'ping', tag: 1 }]);
    await world.pass(4_999);
    expect(client.connection.state).toBe('live');
    await world.pass(1);
    expect(client.connection).toMatchObject({ state: 'stale', retryAt: null, attempts: 0 });
    expect(client.connection.reason?.condition).toBe('SERVER_SILENT');
    expect(old?.isClosed).toBe(true);
    expect(world.open).toHaveLength(1);
    world.socket.welcome();
    expect(seen.map(({ state }) => state)).toEqual(['connecting', 'live', 'stale', 'live']);
    expect(client.connection.reason).toBeNull();
  });

  it('is reconnecting if the next one fails, too', async () => {
    const world = new World();
    const { client } = await live(world);
    await world.pass(10_000);
    world.socket.end();
    await world.pass(0);
    expect(client.connection).toMatchObject({ state: 'reconnecting', attempts: 1 });
  });

  it('lives on if it answers, for ever', async () => {
    const world = new World();
    const { client } = await live(world);
    for (let round = 1; round <= 50; round++) {
      await world.pass(5_000);
      expect(world.socket.sentOf('ping')).toHaveLength(round);
      world.socket.push({ type: 'pong', tag: round });
    }
    expect(client.connection.state).toBe('live');
    expect(world.sockets).toHaveLength(1);
  });

  it('is not asked while frames come', async () => {
    const world = new World();
    await live(world);
    for (let version = 0; version < 50; version++) {
      world.socket.push(pageFrame({ tag: 2, version }));
      await world.pass(1_000);
    }
    expect(world.socket.sentOf('ping')).toEqual([]);
  });

  it('is asked after sleep, and not condemned before it could answer', async () => {
    const world = new World();
    const { client } = await live(world);
    await world.pass(5_000); // asked
    await world.sleep(3_600_000);
    expect(client.connection.state).toBe('live');
    expect(world.socket.sentOf('ping')).toHaveLength(2);
    world.socket.push({ type: 'pong', tag: 1 });
    await world.pass(4_000);
    expect(client.connection.state).toBe('live');
  });

  it('is found out in a background tab whose timers fire once a minute', async () => {
    const world = new World();
    const { client } = await live(world);
    const states: string[] = [];
    for (let minute = 0; minute < 3; minute++) {
      await world.sleep(60_000);
      states.push(client.connection.state);
    }
    expect(states).toEqual(['live', 'live', 'stale']);
  });

  it('is asked at once when the tab is seen again, once for many such events', async () => {
    const world = new World();
    const { client } = await live(world);
    await world.pass(2_000);
    for (let event = 0; event < 100; event++) world.return();
    expect(world.socket.sentOf('ping')).toEqual([{ type: 'ping', tag: 1 }]);
    expect(world.timers.size).toBe(1);
    await world.pass(4_999);
    expect(client.connection.state).toBe('live');
    await world.pass(1);
    expect(client.connection.state).toBe('stale');
  });

  it('that opened and never spoke is given up', async () => {
    const world = new World();
    const client = world.client();
    client.subscribe('final_ui', {}, { page: () => {} });
    await world.pass(0);
    world.socket.open();
    await world.pass(10_000);
    expect(client.connection).toMatchObject({ state: 'reconnecting', attempts: 1 });
    expect(world.fetched).toEqual([]);
  });
});
