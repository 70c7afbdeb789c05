import { afterEach, describe, expect, it, vi } from 'vitest';
import { Address } from '../src/address';
import { EvertableClient } from '../src/index';
import { browserPlatform, guarded } from '../src/platform';

/** As much of a browser as the client touches. */
function pretend(baseURI: string) {
  const page = Object.assign(new EventTarget(), { baseURI, visibilityState: 'visible' });
  const frame = new EventTarget();
  vi.stubGlobal('document', page);
  vi.stubGlobal('addEventListener', frame.addEventListener.bind(frame));
  vi.stubGlobal('removeEventListener', frame.removeEventListener.bind(frame));
  return { page, frame };
}

afterEach(() => vi.unstubAllGlobals());

describe('the browser platform', () => {
  it('calls back when the tab becomes visible and when the network returns, until it is stopped', () => {
    const { page, frame } = pretend('http://page/');
    const call = vi.fn();
    const stop = browserPlatform().onReturn(call);
    page.dispatchEvent(new Event('visibilitychange'));
    frame.dispatchEvent(new Event('online'));
    expect(call).toHaveBeenCalledTimes(2);
    page.visibilityState = 'hidden';
    page.dispatchEvent(new Event('visibilitychange'));
    expect(call).toHaveBeenCalledTimes(2);
    stop();
    page.visibilityState = 'visible';
    page.dispatchEvent(new Event('visibilitychange'));
    frame.dispatchEvent(new Event('online'));
    expect(call).toHaveBeenCalledTimes(2);
  });

  it('is the default', async () => {
    pretend('https://page/app/tables/final_ui?x#y');
    const opened: unknown[][] = [];
    const closed = vi.fn();
    class Socket {
      constructor(...given: unknown[]) {
        opened.push(given);
      }
      close = closed;
    }
    const fetched = vi.fn(async (_url: string, _init: RequestInit) => new Response('{}'));
    vi.stubGlobal('WebSocket', Socket);
    vi.stubGlobal('fetch', fetched);
    const client = new EvertableClient();
    client.subscribe('t', {}, { page: () => {} });
    await client.request('api/status');
    expect(opened).toEqual([['wss://page/app/tables/ws', ['evertable.v1']]]);
    expect(fetched.mock.calls[0]?.[0]).toBe('https://page/app/tables/api/status');
    client.dispose();
    expect(closed).toHaveBeenCalledTimes(1);
  });

  it('reports what callbacks throw', () => {
    const report = vi.fn();
    vi.stubGlobal('reportError', report);
    const error = new Error('broken');
    guarded(() => {
      throw error;
    });
    expect(report).toHaveBeenCalledWith(error);
  });
});

describe('an address', () => {
  it('is resolved against the page if it is relative or missing', () => {
    const socket = (url: string | undefined, page?: string) => new Address(url, page).socket;
    expect(socket(undefined, 'https://page/')).toBe('wss://page/ws');
    expect(socket('', 'https://page/app/?a=b#c')).toBe('wss://page/app/ws');
    expect(socket('/tables', 'http://page:81/app/')).toBe('ws://page:81/tables/ws');
    expect(socket('http://other:10000')).toBe('ws://other:10000/ws');
    expect(socket('http://other/a/b/')).toBe('ws://other/a/b/ws');
  });

  it('adds a hint if the browser may hide the answer of the server', async () => {
    pretend('http://page/');
    const fetch = () => Promise.reject(new TypeError('Failed to fetch'));
    const client = new EvertableClient({ url: 'http://server', platform: { fetch } });
    await expect(client.request('api/status')).rejects.toThrow('server.origins may lack this page');
  });

  it('has the origin of the page or another one', () => {
    expect(new Address('http://a', 'http://b/').isCrossOrigin).toBe(true);
    expect(new Address('http://a/x', 'http://a/y').isCrossOrigin).toBe(false);
    expect(new Address('http://a', undefined).isCrossOrigin).toBe(false);
  });

  it('names the fault if it is invalid', () => {
    expect(() => new Address('nonsense', undefined)).toThrow(
      "'nonsense' is invalid; it must look like https://",
    );
    expect(() => new Address('ws://server', undefined)).toThrow('must start with http');
    expect(() => new Address('http://me:secret@server', undefined)).toThrow(
      /^(?!.*secret).*Pass a token as the `token` option/,
    );
  });
});
