/**
 * The life of the connection.
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
 * `connecting` is the first attempt, and the rest while nobody subscribes. `reconnecting` is the wait for the next
 * attempt and that attempt. A `stale` socket is replaced at once: the attempt is under way.
 */

import type { Connection, ConnectionState } from './types.js';

export const MOVES: Readonly<Record<ConnectionState, readonly ConnectionState[]>> = {
  connecting: ['live', 'reconnecting', 'refused', 'disposed'],
  live: ['stale', 'reconnecting', 'connecting', 'disposed'],
  stale: ['live', 'reconnecting', 'refused', 'connecting', 'disposed'],
  reconnecting: ['live', 'refused', 'connecting', 'disposed'],
  refused: ['connecting', 'disposed'],
  disposed: [],
};

const FIELDS = ['attempts', 'retryAt', 'reason'] as const;

/** How a connection begins. */
export function begun(now: number): Connection {
  return { state: 'connecting', since: now, attempts: 0, retryAt: null, reason: null };
}

/** The connection after a change, itself if nothing is different; a move that the drawing does not have is a mistake of ours. */
export function moved(from: Connection, change: Partial<Connection>, now: number): Connection {
  const to = { ...from, ...change };
  const { state } = to;
  if (state === from.state) return FIELDS.every((field) => to[field] === from[field]) ? from : to;
  if (!MOVES[from.state].includes(state)) {
    throw new Error(`a connection cannot go from ${from.state} to ${state}`);
  }
  return { ...to, since: now };
}
