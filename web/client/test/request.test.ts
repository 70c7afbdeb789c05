import { describe, expect, it } from 'vitest';
import { RequestRefused } from '../src/index';
import { answer, FakePlatform } from './fake-platform';

async function refusalOf(request: Promise<unknown>) {
  const error = await request.catch((problem) => problem);
  if (!(error instanceof RequestRefused)) throw error;
  expect(error.message).toBe(error.refusal.message);
  expect(error.name).toBe('RequestRefused');
  return error.refusal;
}

describe('a request', () => {
  it('goes below the address, with the token and the given headers', async () => {
    const platform = new FakePlatform();
    platform.fetch = async () => answer(200, { fine: true });
    const client = platform.client({ url: 'https://server/prefix', token: async () => 'abc' });
    const body = JSON.stringify({ joinType: 'inner' });
    const init = { method: 'POST', body, headers: { 'Content-Type': 'application/json' } };
    expect(await (await client.request('api/control', init)).json()).toEqual({ fine: true });
    await client.request('/api/status?x=1');
    expect(platform.fetched.map(({ url }) => url)).toEqual([
      'https://server/prefix/api/control',
      'https://server/prefix/api/status?x=1',
    ]);
    expect(platform.fetched[0]?.init).toMatchObject({ method: 'POST', body });
    expect([...new Headers(platform.fetched[0]?.init.headers)]).toEqual([
      ['authorization', 'Bearer abc'],
      ['content-type', 'application/json'],
    ]);
    expect(platform.left).toBe(0); // and opens no socket
  });

  it('sends no token if there is none', async () => {
    const platform = new FakePlatform();
    platform.fetch = async () => answer(200);
    await platform.client().request('api/status');
    expect([...new Headers(platform.fetched[0]?.init.headers)]).toEqual([]);
  });

  it('never sends the token to another address', async () => {
    const platform = new FakePlatform();
    const client = platform.client({ url: 'https://server/prefix', token: 'abc' });
    for (const path of ['https://evil.example/x', '../other', 'api/../../x', 'data:,x']) {
      await expect(client.request(path), path).rejects.toThrow(TypeError);
    }
    await expect(client.request('//evil.example/x')).rejects.toThrow(RequestRefused);
    expect(platform.fetched.map(({ url }) => url)).toEqual(['https://server/prefix/evil.example/x']);
  });

  it('rejects with the reason if it is refused', async () => {
    const platform = new FakePlatform();
    const client = platform.client();
    const body = { condition: 'FILTER_INVALID', message: 'expected a value', position: 9 };
    platform.fetch = async () => answer(400, body);
    expect(await refusalOf(client.request('api/x'))).toEqual({ ...body, status: 400 });
    platform.fetch = async () =>
      answer(403, { condition: 'CONTROL_READ_ONLY', message: 'No.', position: null });
    const refusal = { condition: 'CONTROL_READ_ONLY', message: 'No.', status: 403 };
    expect(await refusalOf(client.request('api/x'))).toEqual(refusal);
    platform.fetch = async () => answer(500);
    expect(await refusalOf(client.request('api/x'))).toMatchObject({
      condition: 'SERVER_ANSWER',
      status: 500,
    });
    platform.fetch = async () => answer(404, null);
    expect(await refusalOf(client.request('api/x'))).toMatchObject({
      condition: 'SERVER_ANSWER',
      status: 404,
    });
  });

  it('rejects with SERVER_UNREACHABLE if there is no answer', async () => {
    const refusal = await refusalOf(new FakePlatform().client().request('api/x'));
    expect(refusal).toEqual({
      condition: 'SERVER_UNREACHABLE',
      message: 'http://server does not answer: Failed to fetch.',
    });
  });

  it('rejects with the abort error if its caller aborts it', async () => {
    const platform = new FakePlatform();
    const abort = new AbortController();
    abort.abort();
    const gone = new DOMException('gone', 'AbortError');
    platform.fetch = async () => Promise.reject(gone);
    await expect(platform.client().request('api/x', { signal: abort.signal })).rejects.toBe(gone);
  });

  it('rejects if there is no usable token', async () => {
    const platform = new FakePlatform();
    const failing = platform.client({ token: () => Promise.reject(new Error('no session')) });
    expect(await refusalOf(failing.request('api/x'))).toMatchObject({ condition: 'TOKEN_FAILED' });
    expect(await refusalOf(platform.client({ token: 'ü' }).request('api/x'))).toMatchObject({
      condition: 'TOKEN_WRONG',
    });
    expect(platform.fetched).toEqual([]);
  });

  it('is not sent if the client is disposed before the token arrives', async () => {
    const platform = new FakePlatform();
    const client = platform.client({ token: async () => 'abc' });
    const request = client.request('api/x');
    client.dispose();
    await expect(request).rejects.toThrow('disposed');
    expect(platform.fetched).toEqual([]);
  });
});
