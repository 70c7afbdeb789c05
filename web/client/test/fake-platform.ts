/** A platform for tests: a clock that tests move, sockets that follow a script, and no network. */

import { EvertableClient } from '../src/index';
import type { Change, ClientOptions, Connection, Page, Platform, Refusal, View } from '../src/types';

export type Json = Record<string, unknown>;

export class FakeSocket {
  onopen: (() => void) | null = null;
  onmessage: ((event: { data: unknown }) => void) | null = null;
  onclose: ((event: { code: number; reason: string }) => void) | null = null;
  readonly sent: Json[] = [];
  isOpen = false;
  isClosed = false;

  constructor(
    readonly url: string,
    readonly protocols: string[],
  ) {}

  send(text: string): void {
    if (!this.isOpen) throw new Error('sent on a socket that is not open');
    if (!this.isClosed) this.sent.push(JSON.parse(text));
  }

  close(): void {
    this.isClosed = true;
  }

  /** The server accepts the socket and sends `welcome`. */
  welcome(): this {
    this.open();
    return this.push({ type: 'welcome', protocol: 'evertable.v1', version: '0.1.0', limits: {} });
  }

  open(): this {
    this.isOpen = true;
    this.onopen?.();
    return this;
  }

  push(frame: Json): this {
    return this.pushRaw(JSON.stringify(frame));
  }

  pushRaw(data: unknown): this {
    this.onmessage?.({ data });
    return this;
  }

  /** The server closes the socket, or never accepted it. */
  end(code = 1006, reason = ''): void {
    this.isClosed = true;
    this.onclose?.({ code, reason });
  }

  sentOf(type: string): Json[] {
    return this.sent.filter((frame) => frame.type === type);
  }
}

interface Timer {
  readonly at: number;
  readonly call: () => void;
}

export class FakePlatform {
  time = 1_000_000;
  chance = 1; // so that delays are whole: 50, 100, 200, …
  readonly sockets: FakeSocket[] = [];
  readonly timers = new Set<Timer>();
  readonly returns = new Set<() => void>();
  readonly fetched: { url: string; init: RequestInit }[] = [];
  fetch: (url: string, init: RequestInit) => Promise<Response> = async () => {
    throw new TypeError('Failed to fetch');
  };
  socketFails: Error | null = null;

  readonly platform: Platform = {
    socket: (url, protocols) => {
      if (this.socketFails) throw this.socketFails;
      const socket = new FakeSocket(url, protocols);
      this.sockets.push(socket);
      return socket as unknown as WebSocket;
    },
    fetch: (url, init = {}) => {
      this.fetched.push({ url, init });
      return this.fetch(url, init);
    },
    now: () => this.time,
    random: () => this.chance,
    setTimeout: (call, ms) => {
      const timer = { at: this.time + ms, call };
      this.timers.add(timer);
      return timer;
    },
    clearTimeout: (timer) => this.timers.delete(timer as Timer),
    onReturn: (call) => {
      this.returns.add(call);
      return () => this.returns.delete(call);
    },
  };

  client(options: ClientOptions = {}): EvertableClient {
    return new EvertableClient({ url: 'http://server', ...options, platform: this.platform });
  }

  get socket(): FakeSocket {
    const socket = this.sockets.at(-1);
    if (!socket) throw new Error('no socket was opened');
    return socket;
  }

  /** Sockets that were neither ended nor closed. */
  get open(): FakeSocket[] {
    return this.sockets.filter((socket) => !socket.isClosed);
  }

  /** Advances the clock, and fires due timers in order. */
  async pass(ms: number): Promise<void> {
    const end = this.time + ms;
    await settle();
    for (let fired = 0; ; fired++) {
      if (fired > 10_000) throw new Error('timers fire without end');
      const [next] = [...this.timers].filter(({ at }) => at <= end).sort((one, other) => one.at - other.at);
      if (!next) break;
      this.timers.delete(next);
      this.time = Math.max(this.time, next.at);
      next.call();
      await settle();
    }
    this.time = end;
  }

  /** Advances the clock without firing timers, as sleep does; those due fire afterwards, all late. */
  async sleep(ms: number): Promise<void> {
    this.time += ms;
    const due = [...this.timers].filter(({ at }) => at <= this.time).sort((one, other) => one.at - other.at);
    for (const timer of due) if (this.timers.delete(timer)) timer.call();
    await settle();
  }

  return(): void {
    for (const call of [...this.returns]) call();
  }

  /** The number of timers, listeners and sockets that are still there. */
  get left(): number {
    return this.timers.size + this.returns.size + this.open.length;
  }
}

/** Runs pending promise callbacks. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
}

export interface Recorded {
  readonly pages: Page[];
  readonly changes: Change[];
  readonly refused: Refusal[];
  waiting: number;
}

/** Returns a viewer that records its calls. */
export function viewer() {
  const recorded: Recorded = { pages: [], changes: [], refused: [], waiting: 0 };
  return {
    page(page: Page, change: Change) {
      recorded.pages.push(page);
      recorded.changes.push(change);
    },
    waiting() {
      recorded.waiting++;
    },
    refused(reason: Refusal) {
      recorded.refused.push(reason);
    },
    recorded,
  };
}

export function states(client: EvertableClient): Connection[] {
  const seen: Connection[] = [];
  client.onConnection((connection) => seen.push(connection));
  return seen;
}

export function pageFrame(more: Json = {}): Json {
  return {
    type: 'page',
    id: '1',
    tag: 1,
    table: 'final_ui',
    generation: 3,
    publication: 5,
    version: 10,
    total: 2,
    offset: 0,
    columns: [
      { name: 'name', type: 'string' },
      { name: 'balance', type: 'double' },
    ],
    rows: [
      ['Ada', 1],
      ['Bob', 2],
    ],
    ...more,
  };
}

export function patchFrame(more: Json = {}): Json {
  const stamp = { generation: 3, publication: 5, version: 11 };
  return { type: 'patch', id: '1', tag: 1, ...stamp, total: 2, offset: 0, ...more };
}

export function errorFrame(tag: number, more: Json = {}): Json {
  return { type: 'error', id: '1', tag, condition: 'FILTER_INVALID', message: 'invalid filter', ...more };
}

export function answer(status: number, body?: unknown): Response {
  return new Response(body === undefined ? 'not JSON' : JSON.stringify(body), { status });
}

/** Returns a client with one subscription on a live socket; its first `subscribe` took a tag before the socket opened. */
export async function live(platform: FakePlatform, options: ClientOptions = {}, view: View = {}) {
  const client = platform.client(options);
  const seen = states(client);
  const eye = viewer();
  const subscription = client.subscribe('final_ui', view, eye);
  await settle();
  platform.socket.welcome();
  return { client, seen, recorded: eye.recorded, subscription };
}

/** Returns a promise that the test settles. */
export function later<T>() {
  let resolve: (value: T) => void = () => {};
  let reject: (error: unknown) => void = () => {};
  const promise = new Promise<T>((done, failed) => {
    resolve = done;
    reject = failed;
  });
  return { promise, resolve, reject };
}

/** Returns the token that the last socket sent. */
export function bearer(platform: FakePlatform): string {
  return atob((platform.socket.protocols[1] ?? '').replace('bearer.', ''));
}
