/** Keeps one socket open while there are subscriptions. `state.ts` has the state diagram. */

import { type Address, isToken, subprotocols } from './address.js';
import type { Frame, Request } from './frames.js';
import { probe, unreachable } from './http.js';
import {
  classify,
  type End,
  errorText,
  exponentialBackoff,
  resetsBackoff,
  type SocketHistory,
} from './retry.js';
import { type SessionEnd, SocketSession } from './socket-session.js';
import { initialConnection, transition } from './state.js';
import type { TokenSource } from './token-source.js';
import type { Connection, ConnectionState, Platform, Refusal } from './types.js';

const TOKEN_POLL_MS = 5_000;
const IDLE_MS = 5_000;
const PROBE_TIMEOUT_MS = 5_000;
const STUCK_MS = 1_000;

/** The state shown during an attempt, by the state before it; all others stay. */
const STATE_DURING_ATTEMPT: Readonly<Partial<Record<ConnectionState, ConnectionState>>> = {
  refused: 'connecting',
  live: 'reconnecting',
};

export interface SocketListener {
  /** A new socket is open, and nothing was sent on it yet. */
  opened(): void;
  frame(frame: Frame): void;
  changed(connection: Connection): void;
}

/**
 * Opens sockets one after the other, with one attempt at a time.
 *
 * Each attempt has a number; answers that arrive for an older attempt (a token, a probe) are dropped. Listeners are
 * called last, because they may do anything, including dispose.
 */
export class ReconnectingSocket {
  #connection: Connection;
  #attempts = 0;
  #isNeeded = false;
  #session: SocketSession | null = null;
  #liveAt: number | null = null; // since the socket's first frame
  #hadPage = false;
  #openingAt: number | null = null; // while a socket opens, or a probe asks why it did not
  #probeAbort: AbortController | null = null;
  #timer: unknown; // until the next attempt, the next request for a token, or the probe's timeout
  #idleTimer: unknown;
  #token: string | null = null; // the token of the last attempt
  #delays: Iterator<number, never>;
  #stopWake: (() => void) | null = null; // null while idle

  constructor(
    private readonly platform: Platform,
    private readonly address: Address,
    private readonly tokens: TokenSource,
    private readonly listener: SocketListener,
  ) {
    this.#connection = initialConnection(platform.now());
    this.#delays = exponentialBackoff(platform.random);
  }

  get connection(): Connection {
    return this.#connection;
  }

  /** Opens the socket, if it is not open already. */
  acquire(): void {
    this.platform.clearTimeout(this.#idleTimer);
    this.#isNeeded = true;
    if (this.#stopWake) return;
    this.#stopWake = this.platform.onReturn(() => this.#wake());
    this.#attempt();
  }

  /** Closes the socket after a while, because another subscription often follows soon. */
  release(): void {
    this.#isNeeded = false;
    this.#idleTimer = this.platform.setTimeout(() => {
      if (this.#connection.state !== 'refused') this.#goIdle(); // a refusal stays until something changes
    }, IDLE_MS);
  }

  /** Sends if there is an open socket. */
  send(request: Request): void {
    this.#session?.send(request);
  }

  reconnect(): void {
    this.tokens.invalidate();
    this.#attempt();
  }

  dispose(): void {
    this.#stop();
    this.#update({ state: 'disposed', retryAt: null });
  }

  #attempt(answer?: Promise<string | null>): void {
    if (!this.#isNeeded) {
      this.#goIdle();
      return;
    }
    const attempt = this.#startAttempt();
    const { state } = this.#connection;
    const next = STATE_DURING_ATTEMPT[state] ?? state;
    this.#update({ state: next, retryAt: null, ...(state === 'live' && { reason: null }) });
    if (attempt !== this.#attempts) return;
    (answer ?? this.tokens.get()).then(
      (token) => attempt === this.#attempts && this.#connect(token),
      (error) => attempt === this.#attempts && this.#failed({ kind: 'no token', error }),
    );
  }

  #connect(token: string | null): void {
    this.#token = token;
    if (isToken(token)) this.#open(token);
    else this.#failed({ kind: 'bad token' });
  }

  #open(token: string | null): void {
    this.#openingAt = this.platform.now();
    try {
      this.#session = new SocketSession(this.platform, this.address.socket, subprotocols(token), {
        opened: () => {
          this.#openingAt = null;
          this.listener.opened();
        },
        frame: (frame) => this.#receive(frame),
        ended: (end) => this.#ended(end),
      });
    } catch (error) {
      const message = `The browser could not open a WebSocket to ${this.address}: ${errorText(error)}.`;
      this.#failed({ kind: 'unopened', answer: { condition: 'SOCKET_REFUSED', message } });
    }
  }

  #receive(frame: Frame): void {
    const session = this.#session;
    if (this.#liveAt === null) {
      this.#liveAt = this.platform.now();
      this.#update({ state: 'live', attempts: 0, retryAt: null, reason: null });
    }
    if (session !== this.#session) return;
    this.#hadPage ||= frame.type === 'page';
    this.listener.frame(frame);
  }

  #ended(end: SessionEnd): void {
    if (end.kind !== 'unopened') {
      this.#failed(end);
      return;
    }
    const attempt = this.#attempts;
    const answered = (answer: Refusal) =>
      attempt === this.#attempts && this.#failed({ kind: 'unopened', answer });
    this.#probeAbort = new AbortController();
    const timeout = () => answered(unreachable(this.address, 'the request timed out'));
    this.#timer = this.platform.setTimeout(timeout, PROBE_TIMEOUT_MS);
    probe(this.platform, this.address, this.#token, this.#probeAbort.signal).then(answered);
  }

  #failed(end: End): void {
    const { platform } = this;
    const history: SocketHistory = {
      wasLive: this.#liveAt !== null,
      hadPage: this.#hadPage,
      liveMs: this.#liveAt === null ? 0 : platform.now() - this.#liveAt,
    };
    const attempt = this.#startAttempt();
    const { state, reason } = classify(end, history);
    const attempts = history.wasLive ? 0 : this.#connection.attempts + 1;
    if (resetsBackoff(end, history)) this.#delays = exponentialBackoff(platform.random);
    let retryAt: number | null = null;
    if (state === 'refused') this.#scheduleTokenPoll();
    if (state === 'reconnecting') {
      const delay = this.#delays.next().value;
      retryAt = platform.now() + delay;
      this.#timer = platform.setTimeout(() => this.#attempt(), delay);
    }
    this.#update({ state, attempts, retryAt, reason });
    if (state === 'stale' && attempt === this.#attempts) this.#attempt();
  }

  /** While refused, another token is a reason to try again. */
  #scheduleTokenPoll(): void {
    if (this.tokens.mayChange) {
      this.#timer = this.platform.setTimeout(() => this.#pollToken(), TOKEN_POLL_MS);
    }
  }

  #pollToken(): void {
    const attempt = this.#startAttempt();
    const received = (token: string | null) => {
      if (attempt !== this.#attempts) return;
      if (token === this.#token) this.#scheduleTokenPoll();
      else this.#attempt(Promise.resolve(token));
    };
    this.tokens.get().then(received, () => received(this.#token));
  }

  /** The tab is visible again, or the network is back: retry or ping at once. */
  #wake(): void {
    const { state, retryAt } = this.#connection;
    if (state === 'refused') {
      if (this.tokens.mayChange) this.#pollToken();
    } else if (this.#openingAt !== null) {
      if (this.platform.now() - this.#openingAt >= STUCK_MS) this.#attempt();
    } else if (retryAt !== null) {
      this.#attempt();
    } else {
      this.#session?.ping();
    }
  }

  /** Without subscriptions, only the state remains. */
  #goIdle(): void {
    this.#stop();
    this.#update({ state: 'connecting', attempts: 0, retryAt: null, reason: null });
  }

  #stop(): void {
    this.#startAttempt();
    this.platform.clearTimeout(this.#idleTimer);
    this.#stopWake?.();
    this.#stopWake = null;
  }

  /** Cancels what is in progress, and returns the number of the next attempt. */
  #startAttempt(): number {
    this.platform.clearTimeout(this.#timer);
    this.#session?.close();
    this.#probeAbort?.abort();
    this.#session = this.#probeAbort = this.#openingAt = this.#liveAt = null;
    this.#hadPage = false;
    return ++this.#attempts;
  }

  #update(change: Partial<Connection>): void {
    const before = this.#connection;
    this.#connection = transition(before, change, this.platform.now());
    if (this.#connection !== before) this.listener.changed(this.#connection);
  }
}
