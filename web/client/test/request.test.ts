import { describe, expect, it } from 'vitest';
import { RequestRefused } from '../src/index';
import { answer, World } from './world';

async function refusalOf(request: Promise<unknown>) {
  const error = await request.catch((problem) => problem);
  if (!(error instanceof RequestRefused)) throw error;
  expect(error.message).toBe(error.refusal.message);
  expect(error.name).toBe('RequestRefused');
  return error.refusal;
}

describe('a request', () => {
  it('goes below the address, with the token and what it was given', async () => {
    const world = new World();
    world.fetch = async () => answer(200, { fine: true });
    const client = world.client({ url: 'https://server/prefix', token: async () => 'abc' });
    const body = JSON.stringify({ joinType: 'inner' });
    const init = { method: 'POST', body, headers: { 'Content-Type': 'application/json' } };
    expect(await (await client.request('api/control', init)).json()).toEqual({ fine: true });
    await client.request('/api/status?x=1');
    expect(world.fetched.map(({ url }) => url)).toEqual([
      'https://server/prefix/api/control',
      'https://server/prefix/api/status?x=1',
    ]);
    expect(world.fetched[0]?.init).toMatchObject({ method: 'POST', body });
    expect([...new Headers(world.fetched[0]?.init.headers)]).toEqual([
      ['authorization', 'Bearer abc'],
      ['content-type', 'application/json'],
    ]);
    expect(world.left).toBe(0); // and opens no socket
  });

  it('shows no token where there is none', async () => {
    const world = new World();
    world.fetch = async () => answer(200);
    await world.client().request('api/status');
    expect([...new Headers(world.fetched[0]?.init.headers)]).toEqual([]);
  });

  it('never carries the token elsewhere', async () => {
    const world = new World();
    const client = world.client({ url: 'https://server/prefix', token: 'abc' });
    for (const path of ['https://evil.example/x', '../other', 'api/../../x', 'data:,x']) {
      await expect(client.request(path), path).rejects.toThrow(TypeError);
    }
    await expect(client.request('//evil.example/x')).rejects.toThrow(RequestRefused);
    expect(world.fetched.map(({ url }) => url)).toEqual(['https://server/prefix/evil.example/x']);
  });

  it('that is refused says why', async () => {
    const world = new World();
    const client = world.client();
    const body = { condition: 'FILTER_INVALID', message: 'expected a value', position: 9 };
    world.fetch = async () => answer(400, body);
    expect(await refusalOf(client.request('api/x'))).toEqual({ ...body, status: 400 });
    world.fetch = async () => answer(403, { condition: 'CONTROL_READ_ONLY', message: 'No.', position: null });
    const refusal = { condition: 'CONTROL_READ_ONLY', message: 'No.', status: 403 };
    expect(await refusalOf(client.request('api/x'))).toEqual(refusal);
    world.fetch = async () => answer(500);
    expect(await refusalOf(client.request('api/x'))).toMatchObject({
      condition: 'SERVER_ANSWER',
      status: 500,
    });
    world.fetch = async () => answer(404, null);
    expect(await refusalOf(client.request('api/x'))).toMatchObject({
      condition: 'SERVER_ANSWER',
      status: 404,
    });
  });

  it('that nobody answers says so', async () => {
    const refusal = await refusalOf(new World().client().request('api/x'));
    expect(refusal).toEqual({
      condition: 'SERVER_UNREACHABLE',
      message: 'There is no answer from http://server: Failed to fetch.',
    });
  });

  it('that its asker gave up ends as such', async () => {
    const world = new World();
    const abort = new AbortController();
    abort.abort();
    const gone = new DOMException('gone', 'AbortError');
    world.fetch = async () => Promise.reject(gone);
    await expect(world.client().request('api/x', { signal: abort.signal })).rejects.toBe(gone);
  });

  it('without a token that can be shown says so', async () => {
    const world = new World();
    const failing = world.client({ token: () => Promise.reject(new Error('no session')) });
    expect(await refusalOf(failing.request('api/x'))).toMatchObject({ condition: 'TOKEN_FAILED' });
    expect(await refusalOf(world.client({ token: 'ü' }).request('api/x'))).toMatchObject({
      condition: 'TOKEN_WRONG',
    });
    expect(world.fetched).toEqual([]);
  });

  it('is not sent if the client ends before the token is there', async () => {
    const world = new World();
    const client = world.client({ token: async () => 'abc' });
    const request = client.request('api/x');
    client.dispose();
    await expect(request).rejects.toThrow('disposed');
    expect(world.fetched).toEqual([]);
  });
});
