/** What comes of an ended attempt or socket: a pure decision, made of what is known about its end. */

import type { Refusal } from './types.js';

export type End =
  /** The socket never opened; `answer` is what the server says over HTTP. */
  | { readonly kind: 'unopened'; readonly answer: Refusal }
  /** The token function failed. */
  | { readonly kind: 'no token'; readonly error: unknown }
  /** The token is none that a server can have. */
  | { readonly kind: 'bad token' }
  | { readonly kind: 'closed'; readonly code: number; readonly reason: string }
  | { readonly kind: 'unreadable'; readonly problem: string }
  | { readonly kind: 'silent' };

export interface Verdict {
  readonly state: 'refused' | 'stale' | 'reconnecting';
  readonly reason: Refusal;
}

/** What was seen of the socket that ended. */
export interface Seen {
  readonly live: boolean;
  readonly page: boolean;
  readonly liveMs: number;
}

const PROVEN_MS = 5_000;
const REFUSALS: readonly (number | undefined)[] = [401, 403];
const RESTARTS = 1012;
const FAULTS: readonly number[] = [1002, 1003, 1007, 1009, 1011, 4400]; // somebody's mistake

export const BAD_TOKEN: Refusal = {
  condition: 'TOKEN_WRONG',
  message: 'The token is not one word of visible ASCII characters, as the token of every server is.',
};

export type Classify = (end: End, seen: Seen) => Verdict;

/** Every end may pass, but for what the server says no to. */
export function classify(end: End, seen: Seen): Verdict {
  switch (end.kind) {
    case 'unopened':
      return { state: REFUSALS.includes(end.answer.status) ? 'refused' : 'reconnecting', reason: end.answer };
    case 'bad token':
      return { state: 'refused', reason: BAD_TOKEN };
    case 'no token':
      return { state: 'reconnecting', reason: noToken(end.error) };
    case 'closed':
      if (end.code === RESTARTS) return again('SERVER_RESTARTS', 'The server stops or restarts.');
      return again('CONNECTION_LOST', `The connection was lost (${end.reason || `code ${end.code}`}).`);
    case 'unreadable':
      return again('SERVER_ANSWER', `A frame cannot be read: ${end.problem}.`);
    case 'silent': {
      const reason = { condition: 'SERVER_SILENT', message: 'There is no sign of life from the server.' };
      return { state: seen.live ? 'stale' : 'reconnecting', reason };
    }
  }
}

/**
 * Whether a socket was good enough for the delays to begin anew. Who accepts and closes at once, or ends it over
 * something that will be so again, is not to be asked every 50 ms.
 */
export function proven(end: End, seen: Seen): boolean {
  const isFault = end.kind === 'unreadable' || (end.kind === 'closed' && FAULTS.includes(end.code));
  return seen.liveMs >= PROVEN_MS || (seen.page && !isFault);
}

export function noToken(error: unknown): Refusal {
  return { condition: 'TOKEN_FAILED', message: `There is no token to show: ${inWords(error)}.` };
}

/** An error for people, without a full stop. */
export function inWords(error: unknown): string {
  const words = error instanceof Error ? error.message || error.name : String(error);
  return words.replace(/\.$/, '');
}

function again(condition: string, message: string): Verdict {
  return { state: 'reconnecting', reason: { condition, message } };
}
