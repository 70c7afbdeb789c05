/** What to do when an attempt or a socket has ended: a pure classifier, and the delays between attempts. */

import type { Refusal } from './types.js';

/** How an attempt or a socket ended. */
export type End =
  /** The socket never opened; `answer` is the server's answer over HTTP. */
  | { readonly kind: 'unopened'; readonly answer: Refusal }
  /** The token function failed. */
  | { readonly kind: 'no token'; readonly error: unknown }
  /** The token has characters that no server token has. */
  | { readonly kind: 'bad token' }
  | { readonly kind: 'closed'; readonly code: number; readonly reason: string }
  | { readonly kind: 'unreadable'; readonly problem: string }
  | { readonly kind: 'silent' };

/** The connection state that follows an end. */
export interface NextState {
  readonly state: 'refused' | 'stale' | 'reconnecting';
  readonly reason: Refusal;
}

/** What the socket that ended had received. */
export interface SocketHistory {
  readonly wasLive: boolean;
  readonly hadPage: boolean;
  readonly liveMs: number;
}

const FIRST_DELAY_MS = 50;
const MAX_DELAY_MS = 5_000;
const STABLE_MS = 5_000;
const REFUSAL_STATUSES: readonly (number | undefined)[] = [401, 403];
const SERVICE_RESTART = 1012;
const FAULT_CODES: readonly number[] = [1002, 1003, 1007, 1009, 1011, 4400]; // a retry would end the same way

export const BAD_TOKEN: Refusal = {
  condition: 'TOKEN_WRONG',
  message: 'The token must be one word of visible ASCII characters.',
};

/** Decides what follows an end. Only an HTTP refusal or an impossible token is not retried. */
export function classify(end: End, history: SocketHistory): NextState {
  switch (end.kind) {
    case 'unopened': {
      const isRefused = REFUSAL_STATUSES.includes(end.answer.status);
      return { state: isRefused ? 'refused' : 'reconnecting', reason: end.answer };
    }
    case 'bad token':
      return { state: 'refused', reason: BAD_TOKEN };
    case 'no token':
      return { state: 'reconnecting', reason: tokenFailure(end.error) };
    case 'closed':
      if (end.code === SERVICE_RESTART) {
        return reconnecting({
          condition: 'SERVER_RESTARTS',
          message: 'The server is stopping or restarting.',
        });
      }
      return reconnecting({
        condition: 'CONNECTION_LOST',
        message: `The connection was lost (${end.reason || `code ${end.code}`}).`,
      });
    case 'unreadable':
      return reconnecting({
        condition: 'SERVER_ANSWER',
        message: `The server sent an invalid frame: ${end.problem}.`,
      });
    case 'silent': {
      const reason = { condition: 'SERVER_SILENT', message: 'The server does not respond to pings.' };
      return { state: history.wasLive ? 'stale' : 'reconnecting', reason };
    }
  }
}

/**
 * Whether the delays start again from the first one. A server that accepts and closes at once, or a fault that will
 * repeat, must not be retried every 50 ms.
 */
export function resetsBackoff(end: End, history: SocketHistory): boolean {
  const isFault = end.kind === 'unreadable' || (end.kind === 'closed' && FAULT_CODES.includes(end.code));
  return history.liveMs >= STABLE_MS || (history.hadPage && !isFault);
}

/** Yields milliseconds to wait before each attempt; jittered so that many clients do not return at once. */
export function* exponentialBackoff(random: () => number): Generator<number, never> {
  for (let step = FIRST_DELAY_MS; ; step = Math.min(2 * step, MAX_DELAY_MS)) {
    yield step * (0.5 + random() / 2);
  }
}

export function tokenFailure(error: unknown): Refusal {
  return { condition: 'TOKEN_FAILED', message: `The token could not be fetched: ${errorText(error)}.` };
}

/** Returns an error's message without its full stop. */
export function errorText(error: unknown): string {
  const text = error instanceof Error ? error.message || error.name : String(error);
  return text.replace(/\.$/, '');
}

function reconnecting(reason: Refusal): NextState {
  return { state: 'reconnecting', reason };
}
