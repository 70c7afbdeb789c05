/** One WebSocket from opening to end, with its heartbeat. */

import { type Frame, type Request, read } from './frames.js';
import { Heartbeat } from './heartbeat.js';
import { type End, errorText } from './retry.js';
import type { Platform } from './types.js';

const OPEN_TIMEOUT_MS = 10_000;

/** How a session ends; why it is `unopened` is only known after a probe. */
export type SessionEnd =
  | Extract<End, { kind: 'closed' | 'unreadable' | 'silent' }>
  | { readonly kind: 'unopened' };

export interface SessionListener {
  opened(): void;
  frame(frame: Frame): void;
  /** Called once, and last. */
  ended(end: SessionEnd): void;
}

export class SocketSession {
  readonly #socket: WebSocket;
  #heartbeat: Heartbeat | null = null; // null until the socket is open
  #timer: unknown;
  #pings = 0;

  constructor(
    private readonly platform: Platform,
    url: string,
    protocols: string[],
    private readonly listener: SessionListener,
  ) {
    const socket = platform.socket(url, protocols);
    socket.onopen = () => this.#open();
    socket.onmessage = (event) => this.#receive(event.data);
    socket.onclose = ({ code, reason }) =>
      this.#end(this.#heartbeat ? { kind: 'closed', code, reason } : { kind: 'unopened' });
    this.#socket = socket;
    this.#timer = platform.setTimeout(() => this.#end({ kind: 'unopened' }), OPEN_TIMEOUT_MS);
  }

  /** Sends if the socket is open; otherwise every subscription is sent again when the next one opens. */
  send(request: Request): void {
    if (this.#heartbeat) this.#socket.send(JSON.stringify(request));
  }

  /** Sends a ping now, unless one is unanswered. */
  ping(): void {
    if (this.#heartbeat?.startPing(this.platform.now())) this.#sendPing();
  }

  /** Closes the socket without calling the listener. May be called again. */
  close(): void {
    this.platform.clearTimeout(this.#timer);
    const socket = this.#socket;
    socket.onopen = socket.onmessage = socket.onclose = null;
    socket.close();
  }

  #open(): void {
    this.#heartbeat = new Heartbeat(this.platform.now());
    this.#scheduleCheck();
    this.listener.opened();
  }

  #receive(data: unknown): void {
    this.#heartbeat?.received(this.platform.now());
    let frame: Frame;
    try {
      frame = read(data);
    } catch (error) {
      this.#end({ kind: 'unreadable', problem: errorText(error) });
      return;
    }
    this.listener.frame(frame);
  }

  #end(end: SessionEnd): void {
    this.close();
    this.listener.ended(end);
  }

  /** The timer is not reset by each frame, which would cost more than a check that comes too early. */
  #scheduleCheck(): void {
    this.platform.clearTimeout(this.#timer);
    const delay = this.#heartbeat?.untilCheck(this.platform.now()) ?? 0;
    this.#timer = this.platform.setTimeout(() => this.#check(), delay);
  }

  #check(): void {
    const action = this.#heartbeat?.check(this.platform.now());
    if (action === 'dead') {
      this.#end({ kind: 'silent' });
      return;
    }
    if (action === 'ping') this.#sendPing();
    this.#scheduleCheck();
  }

  #sendPing(): void {
    this.send({ type: 'ping', tag: ++this.#pings });
  }
}
