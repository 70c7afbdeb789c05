/** Keeps one socket alive while somebody needs it: one attempt at a time, for ever. `state.ts` has the drawing. */

import { type Address, isToken, subprotocols } from './address.js';
import { type Delays, growing } from './delays.js';
import type { Frame, Request } from './frames.js';
import { probe, unreachable } from './http.js';
import { Link, type LinkEnd } from './link.js';
import { begun, moved } from './state.js';
import type { Tokens } from './tokens.js';
import type { Connection, ConnectionState, Refusal, Surroundings } from './types.js';
import { type Classify, classify, type End, inWords, proven, type Seen } from './verdict.js';

const ASK_AGAIN_MS = 5_000;
const IDLE_MS = 5_000;
const PROBE_MS = 5_000;
const STUCK_MS = 1_000;

/** As what an attempt shows, by the state before it. */
const ATTEMPTS: Readonly<Partial<Record<ConnectionState, ConnectionState>>> = {
  refused: 'connecting',
  live: 'reconnecting',
};

export interface LifelineListener {
  /** A new socket is open, and nothing was sent on it yet. */
  attached(): void;
  frame(frame: Frame): void;
  changed(connection: Connection): void;
}

/**
 * Whatever comes later than its turn (a token, the answer to a probe) is not heard. Listeners are told last, for they
 * may do anything, also dispose.
 */
export class Lifeline {
  #connection: Connection;
  #turn = 0;
  #needed = false;
  #link: Link | null = null;
  #liveAt: number | null = null; // since the socket's first frame
  #sawPage = false;
  #openingAt: number | null = null; // while a socket opens, or a probe asks why it did not
  #abort: AbortController | null = null; // of that probe
  #timer: unknown; // until the next attempt, the next question for a token, or the end of a probe
  #idle: unknown;
  #shown: string | null = null; // the token of the last attempt
  #waits: Iterator<number, never>;
  #stopReturn: (() => void) | null = null; // null while it rests

  constructor(
    private readonly world: Surroundings,
    private readonly address: Address,
    private readonly tokens: Tokens,
    private readonly listener: LifelineListener,
    private readonly delays: Delays = growing,
    private readonly verdict: Classify = classify,
  ) {
    this.#connection = begun(world.now());
    this.#waits = delays(world.random);
  }

  get connection(): Connection {
    return this.#connection;
  }

  /** Somebody subscribes. */
  need(): void {
    this.world.clearTimeout(this.#idle);
    this.#needed = true;
    if (this.#stopReturn) return;
    this.#stopReturn = this.world.onReturn(() => this.#returned());
    this.#attempt();
  }

  /** Nobody subscribes any more; the socket stays for a while, since somebody often comes soon. */
  release(): void {
    this.#needed = false;
    this.#idle = this.world.setTimeout(() => {
      if (this.#connection.state !== 'refused') this.#rest(); // a refusal stays until something changes
    }, IDLE_MS);
  }

  /** Sends if there is an open socket. */
  send(request: Request): void {
    this.#link?.send(request);
  }

  reconnect(): void {
    this.tokens.renew();
    this.#attempt();
  }

  dispose(): void {
    this.#stop();
    this.#tell({ state: 'disposed', retryAt: null });
  }

  #attempt(answer?: Promise<string | null>): void {
    if (!this.#needed) {
      this.#rest();
      return;
    }
    const turn = this.#begin();
    const { state } = this.#connection;
    this.#tell({ state: ATTEMPTS[state] ?? state, retryAt: null, ...(state === 'live' && { reason: null }) });
    if (turn !== this.#turn) return;
    (answer ?? this.tokens.ask()).then(
      (token) => turn === this.#turn && this.#show(token),
      (error) => turn === this.#turn && this.#failed({ kind: 'no token', error }),
    );
  }

  #show(token: string | null): void {
    this.#shown = token;
    if (isToken(token)) this.#open(token);
    else this.#failed({ kind: 'bad token' });
  }

  #open(token: string | null): void {
    this.#openingAt = this.world.now();
    try {
      this.#link = new Link(this.world, this.address.socket, subprotocols(token), {
        opened: () => {
          this.#openingAt = null;
          this.listener.attached();
        },
        frame: (frame) => this.#take(frame),
        ended: (end) => this.#ended(end),
      });
    } catch (error) {
      const message = `The browser opens no WebSocket to ${this.address}: ${inWords(error)}.`;
      this.#failed({ kind: 'unopened', answer: { condition: 'SOCKET_REFUSED', message } });
    }
  }

  #take(frame: Frame): void {
    const link = this.#link;
    if (this.#liveAt === null) {
      this.#liveAt = this.world.now();
      this.#tell({ state: 'live', attempts: 0, retryAt: null, reason: null });
    }
    if (link !== this.#link) return;
    this.#sawPage ||= frame.type === 'page';
    this.listener.frame(frame);
  }

  #ended(end: LinkEnd): void {
    if (end.kind !== 'unopened') {
      this.#failed(end);
      return;
    }
    const turn = this.#turn;
    const told = (answer: Refusal) => turn === this.#turn && this.#failed({ kind: 'unopened', answer });
    this.#abort = new AbortController();
    this.#timer = this.world.setTimeout(() => told(unreachable(this.address, 'not in time')), PROBE_MS);
    probe(this.world, this.address, this.#shown, this.#abort.signal).then(told);
  }

  #failed(end: End): void {
    const { world } = this;
    const seen: Seen = {
      live: this.#liveAt !== null,
      page: this.#sawPage,
      liveMs: this.#liveAt === null ? 0 : world.now() - this.#liveAt,
    };
    const turn = this.#begin();
    const { state, reason } = this.verdict(end, seen);
    const attempts = seen.live ? 0 : this.#connection.attempts + 1;
    if (proven(end, seen)) this.#waits = this.delays(world.random);
    let retryAt: number | null = null;
    if (state === 'refused') this.#askLater();
    if (state === 'reconnecting') {
      const wait = this.#waits.next().value;
      retryAt = world.now() + wait;
      this.#timer = world.setTimeout(() => this.#attempt(), wait);
    }
    this.#tell({ state, attempts, retryAt, reason });
    if (state === 'stale' && turn === this.#turn) this.#attempt();
  }

  /** While it is refused: another token is another chance. */
  #askLater(): void {
    if (this.tokens.mayChange) this.#timer = this.world.setTimeout(() => this.#askNow(), ASK_AGAIN_MS);
  }

  #askNow(): void {
    const turn = this.#begin();
    const heard = (token: string | null) => {
      if (turn !== this.#turn) return;
      if (token === this.#shown) this.#askLater();
      else this.#attempt(Promise.resolve(token));
    };
    this.tokens.ask().then(heard, () => heard(this.#shown));
  }

  /** The tab is seen again, or the network is back: no reason to wait, and every reason to doubt. */
  #returned(): void {
    const { state, retryAt } = this.#connection;
    if (state === 'refused') {
      if (this.tokens.mayChange) this.#askNow();
    } else if (this.#openingAt !== null) {
      if (this.world.now() - this.#openingAt >= STUCK_MS) this.#attempt();
    } else if (retryAt !== null) {
      this.#attempt();
    } else {
      this.#link?.ask();
    }
  }

  /** Nobody needs it: nothing is left but the state. */
  #rest(): void {
    this.#stop();
    this.#tell({ state: 'connecting', attempts: 0, retryAt: null, reason: null });
  }

  #stop(): void {
    this.#begin();
    this.world.clearTimeout(this.#idle);
    this.#stopReturn?.();
    this.#stopReturn = null;
  }

  /** Gives up what is under way, and gives the next turn. */
  #begin(): number {
    this.world.clearTimeout(this.#timer);
    this.#link?.close();
    this.#abort?.abort();
    this.#link = this.#abort = this.#openingAt = this.#liveAt = null;
    this.#sawPage = false;
    return ++this.#turn;
  }

  #tell(change: Partial<Connection>): void {
    const before = this.#connection;
    this.#connection = moved(before, change, this.world.now());
    if (this.#connection !== before) this.listener.changed(this.#connection);
  }
}
