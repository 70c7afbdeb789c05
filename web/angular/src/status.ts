import type { Connection, Refusal } from '@evertable/client';
import { TEXTS } from './texts.js';

/** How a table is, as far as people want to know. */
export interface Situation {
  readonly table: string;
  readonly connection: Connection;
  /** The generation on screen; null before the first rows. */
  readonly generation: number | null;
  /** When a swap came on screen, in milliseconds since 1970. */
  readonly swappedAt: number | null;
  readonly waiting: boolean;
  readonly refusal: Refusal | null;
  readonly now: number;
}

export interface Status {
  readonly tone: 'good' | 'busy' | 'bad';
  /** For the eye: may count seconds. */
  readonly text: string;
  /** For the ear: the same without what ticks, so that it is said once. */
  readonly announced: string;
}

/** A swap is told of for so long, in milliseconds. */
export const SWAP_SHOWN = 8000;

/** The state of a table in words. */
export function statusOf(situation: Situation): Status {
  const { connection, generation, refusal, now } = situation;
  const last = generation === null ? '' : TEXTS.lastRows;
  switch (connection.state) {
    case 'connecting':
      return say('busy', TEXTS.connecting);
    case 'stale': {
      const seconds = Math.max(0, Math.round((now - connection.since) / 1000));
      return { tone: 'bad', text: TEXTS.staleFor(seconds), announced: TEXTS.stale };
    }
    case 'reconnecting': {
      const text = TEXTS.reconnecting(Math.max(1, connection.attempts)) + last;
      return { tone: 'bad', text, announced: TEXTS.reconnecting(1) + last };
    }
    case 'refused':
      return say('bad', connection.reason ? TEXTS.refused(connection.reason) + last : TEXTS.closed);
    case 'disposed':
      return say('bad', TEXTS.closed);
  }
  if (generation === null) {
    if (refusal) return say('bad', TEXTS.cannotShow(refusal));
    return say('busy', situation.waiting ? TEXTS.waiting(situation.table) : TEXTS.loading);
  }
  if (situation.waiting) return say('busy', TEXTS.waiting(situation.table) + last);
  const recent = situation.swappedAt !== null && now - situation.swappedAt < SWAP_SHOWN;
  return say('good', recent ? TEXTS.swapped(generation) : TEXTS.live(generation));
}

function say(tone: Status['tone'], text: string): Status {
  return { tone, text, announced: text };
}
