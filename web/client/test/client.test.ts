import { describe, expect, it, vi } from 'vitest';
import { EvertableClient } from '../src/index';
import { live, pageFrame, patchFrame, settle, viewer, World } from './world';

describe('a client', () => {
  it('opens no socket before somebody subscribes', async () => {
    const world = new World();
    const client = world.client();
    await world.pass(60_000);
    expect(client.connection).toEqual({
      state: 'connecting',
      since: 1_000_000,
      attempts: 0,
      retryAt: null,
      reason: null,
    });
    expect(world.sockets).toHaveLength(0);
    expect(world.left).toBe(0);
  });

  it('opens one socket for many subscriptions, and shows the token in a subprotocol', async () => {
    const world = new World();
    const client = world.client({ url: 'https://server/prefix', token: 'se~cret??' });
    for (const table of ['users_ui', 'final_ui']) client.subscribe(table, {}, viewer());
    await settle();
    client.subscribe('final_ui', {}, viewer()); // while the socket opens
    await settle();
    expect(world.sockets).toHaveLength(1);
    expect(world.socket.url).toBe('wss://server/prefix/ws');
    expect(world.socket.protocols).toEqual(['evertable.v1', 'bearer.c2V-Y3JldD8_']);
    world.socket.welcome();
    expect(world.socket.sent.map(({ type, id, table }) => [type, id, table])).toEqual([
      ['subscribe', '1', 'users_ui'],
      ['subscribe', '2', 'final_ui'],
      ['subscribe', '3', 'final_ui'],
    ]);
    client.subscribe('late', {}, viewer());
    expect(world.socket.sent.at(-1)).toMatchObject({ type: 'subscribe', id: '4', table: 'late' });
  });

  it('offers no bearer without a token', async () => {
    for (const token of [undefined, null, '', () => null, async () => '']) {
      const world = new World();
      await live(world, { token });
      expect(world.socket.protocols).toEqual(['evertable.v1']);
    }
  });

  it('hands pages, patches and totals on', async () => {
    const world = new World();
    const view = { sort: ['name'] };
    const { heard, subscription, client } = await live(world, {}, view);
    expect(client.connection.state).toBe('live');
    const [{ tag }] = world.socket.sent as [{ tag: number }];
    world.socket.push(pageFrame({ tag, missing: ['gone'] }));
    expect(heard.pages[0]).toMatchObject({ table: 'final_ui', generation: 3, total: 2, missing: ['gone'] });
    expect(heard.pages[0]?.view).toBe(view);
    expect(heard.changes[0]).toEqual({ kind: 'page', swapped: false });
    world.socket.push(patchFrame({ tag, splice: [[0, 1, []]], cells: [[0, 1, 3]], total: 1 }));
    expect(subscription.page?.rows).toEqual([['Bob', 3]]);
    expect(heard.changes[1]).toEqual({ kind: 'patch', splices: [[0, 1, []]], cells: [[0, 1]] });
    world.socket.push({ ...patchFrame({ tag, version: 12, total: 9 }), type: 'total' });
    expect(subscription.page).toMatchObject({ total: 9, version: 12, rows: [['Bob', 3]] });
    expect(heard.changes[2]).toEqual({ kind: 'total' });
    expect(subscription.page).toBe(heard.pages[2]);
    expect(heard.pages[0]?.rows).toHaveLength(2);
  });

  it('keeps the last page over a reconnect, and starts afresh on the new socket', async () => {
    const world = new World();
    const { heard, subscription } = await live(world);
    world.socket.push(pageFrame({ tag: 2, version: 100 }));
    world.socket.end(1012);
    expect(subscription.page).toBe(heard.pages[0]);
    await world.pass(50);
    expect(world.sockets).toHaveLength(2);
    world.socket.welcome().push(pageFrame({ tag: 3, version: 1, publication: 1, generation: 1 }));
    expect(heard.pages).toHaveLength(2);
    expect(heard.changes[1]).toEqual({ kind: 'page', swapped: true });
  });

  it('shuts a viewer that throws off from the others', async () => {
    const world = new World();
    const report = vi.spyOn(console, 'error').mockImplementation(() => {});
    const client = world.client();
    const broken = () => {
      throw new Error('broken viewer');
    };
    client.onConnection(broken);
    client.subscribe('a', {}, { page: broken });
    const good = viewer();
    client.subscribe('b', {}, good);
    await settle();
    world.socket.welcome();
    world.socket.push(pageFrame({ tag: 2 })).push(pageFrame({ tag: 2, id: '2' }));
    expect(good.heard.pages).toHaveLength(1);
    expect(client.connection.state).toBe('live');
    expect(report).toHaveBeenCalledTimes(3); // at once, when live, and for the page
    report.mockRestore();
  });

  it('ignores frames that it does not know', async () => {
    const world = new World();
    const { heard, client } = await live(world);
    world.socket.push({ type: 'weather', sunny: true }).push({ type: 'toString' });
    world.socket.push(pageFrame({ id: 'nobody', tag: 2 })).push(pageFrame({ tag: 2 }));
    expect(heard.pages).toHaveLength(1);
    expect(client.connection.state).toBe('live');
  });

  it('refuses addresses that it cannot use', () => {
    const bad = [
      'ftp://server',
      'http://me:pass@server',
      'http://server/?token=x',
      'http://server#x',
      'http://',
      '/x',
    ];
    for (const url of bad) expect(() => new EvertableClient({ url }), url).toThrow(TypeError);
  });
});
