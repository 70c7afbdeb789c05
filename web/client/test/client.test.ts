import { describe, expect, it, vi } from 'vitest';
import { EvertableClient } from '../src/index';
import { FakePlatform, live, pageFrame, patchFrame, settle, viewer } from './fake-platform';

describe('a client', () => {
  it('opens no socket before the first subscription', async () => {
    const platform = new FakePlatform();
    const client = platform.client();
    await platform.pass(60_000);
    expect(client.connection).toEqual({
      state: 'connecting',
      since: 1_000_000,
      attempts: 0,
      retryAt: null,
      reason: null,
    });
    expect(platform.sockets).toHaveLength(0);
    expect(platform.left).toBe(0);
  });

  it('opens one socket for many subscriptions, and sends the token as a subprotocol', async () => {
    const platform = new FakePlatform();
    const client = platform.client({ url: 'https://server/prefix', token: 'se~cret??' });
    for (const table of ['users_ui', 'final_ui']) client.subscribe(table, {}, viewer());
    await settle();
    client.subscribe('final_ui', {}, viewer()); // while the socket opens
    await settle();
    expect(platform.sockets).toHaveLength(1);
    expect(platform.socket.url).toBe('wss://server/prefix/ws');
    expect(platform.socket.protocols).toEqual(['evertable.v1', 'bearer.c2V-Y3JldD8_']);
    platform.socket.welcome();
    expect(platform.socket.sent.map(({ type, id, table }) => [type, id, table])).toEqual([
      ['subscribe', '1', 'users_ui'],
      ['subscribe', '2', 'final_ui'],
      ['subscribe', '3', 'final_ui'],
    ]);
    client.subscribe('late', {}, viewer());
    expect(platform.socket.sent.at(-1)).toMatchObject({ type: 'subscribe', id: '4', table: 'late' });
  });

  it('offers no bearer subprotocol without a token', async () => {
    for (const token of [undefined, null, '', () => null, async () => '']) {
      const platform = new FakePlatform();
      await live(platform, { token });
      expect(platform.socket.protocols).toEqual(['evertable.v1']);
    }
  });

  it('passes pages, patches and totals to the viewer', async () => {
    const platform = new FakePlatform();
    const view = { sort: ['name'] };
    const { recorded, subscription, client } = await live(platform, {}, view);
    expect(client.connection.state).toBe('live');
    const [{ tag }] = platform.socket.sent as [{ tag: number }];
    platform.socket.push(pageFrame({ tag, missing: ['gone'] }));
    expect(recorded.pages[0]).toMatchObject({
      table: 'final_ui',
      generation: 3,
      total: 2,
      missing: ['gone'],
    });
    expect(recorded.pages[0]?.view).toBe(view);
    expect(recorded.changes[0]).toEqual({ kind: 'page', swapped: false });
    platform.socket.push(patchFrame({ tag, splice: [[0, 1, []]], cells: [[0, 1, 3]], total: 1 }));
    expect(subscription.page?.rows).toEqual([['Bob', 3]]);
    expect(recorded.changes[1]).toEqual({ kind: 'patch', splices: [[0, 1, []]], cells: [[0, 1]] });
    platform.socket.push({ ...patchFrame({ tag, version: 12, total: 9 }), type: 'total' });
    expect(subscription.page).toMatchObject({ total: 9, version: 12, rows: [['Bob', 3]] });
    expect(recorded.changes[2]).toEqual({ kind: 'total' });
    expect(subscription.page).toBe(recorded.pages[2]);
    expect(recorded.pages[0]?.rows).toHaveLength(2);
  });

  it('keeps the last page during a reconnect, and subscribes again on the new socket', async () => {
    const platform = new FakePlatform();
    const { recorded, subscription } = await live(platform);
    platform.socket.push(pageFrame({ tag: 2, version: 100 }));
    platform.socket.end(1012);
    expect(subscription.page).toBe(recorded.pages[0]);
    await platform.pass(50);
    expect(platform.sockets).toHaveLength(2);
    platform.socket.welcome().push(pageFrame({ tag: 3, version: 1, publication: 1, generation: 1 }));
    expect(recorded.pages).toHaveLength(2);
    expect(recorded.changes[1]).toEqual({ kind: 'page', swapped: true });
  });

  it('isolates a viewer that throws from the others', async () => {
    const platform = new FakePlatform();
    const report = vi.spyOn(console, 'error').mockImplementation(() => {});
    const client = platform.client();
    const broken = () => {
      throw new Error('broken viewer');
    };
    client.onConnection(broken);
    client.subscribe('a', {}, { page: broken });
    const good = viewer();
    client.subscribe('b', {}, good);
    await settle();
    platform.socket.welcome();
    platform.socket.push(pageFrame({ tag: 2 })).push(pageFrame({ tag: 2, id: '2' }));
    expect(good.recorded.pages).toHaveLength(1);
    expect(client.connection.state).toBe('live');
    expect(report).toHaveBeenCalledTimes(3); // at once, when live, and for the page
    report.mockRestore();
  });

  it('ignores unknown frames', async () => {
    const platform = new FakePlatform();
    const { recorded, client } = await live(platform);
    platform.socket.push({ type: 'weather', sunny: true }).push({ type: 'toString' });
    platform.socket.push(pageFrame({ id: 'nobody', tag: 2 })).push(pageFrame({ tag: 2 }));
    expect(recorded.pages).toHaveLength(1);
    expect(client.connection.state).toBe('live');
  });

  it('rejects invalid addresses', () => {
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
