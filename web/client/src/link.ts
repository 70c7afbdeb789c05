/** One socket from its opening to its end, which is told once. */

import { type Frame, type Request, read } from './frames.js';
import { Heartbeat } from './heartbeat.js';
import type { Surroundings } from './types.js';
import { type End, inWords } from './verdict.js';

const OPEN_MS = 10_000;

/** How a link ends; `unopened` for whatever reason, which only a probe can tell. */
export type LinkEnd =
  | Extract<End, { kind: 'closed' | 'unreadable' | 'silent' }>
  | { readonly kind: 'unopened' };

export interface LinkListener {
  opened(): void;
  frame(frame: Frame): void;
  ended(end: LinkEnd): void;
}

export class Link {
  readonly #socket: WebSocket;
  #heartbeat: Heartbeat | null = null; // once it is open
  #timer: unknown;
  #pings = 0;

  constructor(
    private readonly world: Surroundings,
    url: string,
    protocols: string[],
    private readonly listener: LinkListener,
  ) {
    const socket = world.socket(url, protocols);
    socket.onopen = () => this.#open();
    socket.onmessage = (event) => this.#take(event.data);
    socket.onclose = ({ code, reason }) =>
      this.#end(this.#heartbeat ? { kind: 'closed', code, reason } : { kind: 'unopened' });
    this.#socket = socket;
    this.#timer = world.setTimeout(() => this.#end({ kind: 'unopened' }), OPEN_MS);
  }

  /** Sends if the socket is open; else nothing is lost, for all begins anew on the next. */
  send(request: Request): void {
    if (this.#heartbeat) this.#socket.send(JSON.stringify(request));
  }

  /** Asks for a sign of life now, if that is not done already. */
  ask(): void {
    if (this.#heartbeat?.asks(this.world.now())) this.send({ type: 'ping', tag: ++this.#pings });
  }

  /** Ends it; nothing is told any more. May be called again. */
  close(): void {
    this.world.clearTimeout(this.#timer);
    const socket = this.#socket;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close();
  }

  #open(): void {
    this.#heartbeat = new Heartbeat(this.world.now());
    this.#watch();
    this.listener.opened();
  }

  #take(data: unknown): void {
    this.#heartbeat?.heard(this.world.now());
    let frame: Frame;
    try {
      frame = read(data);
    } catch (error) {
      this.#end({ kind: 'unreadable', problem: inWords(error) });
      return;
    }
    this.listener.frame(frame);
  }

  #end(end: LinkEnd): void {
    this.close();
    this.listener.ended(end);
  }

  /** Looks after the silence; the timer runs on while frames come, for setting it at each would cost more. */
  #watch(): void {
    this.world.clearTimeout(this.#timer);
    const wait = this.#heartbeat?.wait(this.world.now()) ?? 0;
    this.#timer = this.world.setTimeout(() => this.#look(), wait);
  }

  #look(): void {
    const look = this.#heartbeat?.look(this.world.now());
    if (look === 'dead') {
      this.#end({ kind: 'silent' });
      return;
    }
    if (look === 'ask') this.send({ type: 'ping', tag: ++this.#pings });
    this.#watch();
  }
}
