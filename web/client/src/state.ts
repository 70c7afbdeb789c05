/**
 * The states of the connection.
 *
 * ```
 *   start ► connecting ──── first frame ───► live ──── silence ───► stale
 *             │  ▲  │                       │  ▲  ▲                │  │
 *             │  │  └─ failed ──┐      lost │  │  └─ first frame ──┘  │
 *             │  │              ▼           ▼  │                      │
 *             │  │             reconnecting ───┘ first frame   failed │
 *             │  │                │       ▲                           │
 *    401, 403 │  │ reconnect(),   │       └───────────────────────────┤
 *             ▼  │ another token  │ 401, 403                          │
 *            refused ◄────────────┴───────────────────────────────────┘
 *
 *   all but refused ── no subscription left ──► connecting          all ── dispose() ──► disposed
 * ```
 *
 * `connecting` is the first attempt, and the idle state while there is no subscription. `reconnecting` is the wait for
 * the next attempt and that attempt. A `stale` socket is replaced at once: the attempt is in progress.
 */

import type { Connection, ConnectionState } from './types.js';

export const TRANSITIONS: Readonly<Record<ConnectionState, readonly ConnectionState[]>> = {
  connecting: ['live', 'reconnecting', 'refused', 'disposed'],
  live: ['stale', 'reconnecting', 'connecting', 'disposed'],
  stale: ['live', 'reconnecting', 'refused', 'connecting', 'disposed'],
  reconnecting: ['live', 'refused', 'connecting', 'disposed'],
  refused: ['connecting', 'disposed'],
  disposed: [],
};

const FIELDS = ['attempts', 'retryAt', 'reason'] as const;

/** Returns the connection before the first attempt. */
export function initialConnection(now: number): Connection {
  return { state: 'connecting', since: now, attempts: 0, retryAt: null, reason: null };
}

/** Returns the connection after a change, or the same object if nothing differs; throws on an illegal transition. */
export function transition(from: Connection, change: Partial<Connection>, now: number): Connection {
  const to = { ...from, ...change };
  const { state } = to;
  if (state === from.state) return FIELDS.every((field) => to[field] === from[field]) ? from : to;
  if (!TRANSITIONS[from.state].includes(state)) {
    throw new Error(`a connection cannot go from ${from.state} to ${state}`);
  }
  return { ...to, since: now };
}
