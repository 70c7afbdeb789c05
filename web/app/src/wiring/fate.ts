import { type Fields, said, text, wiringOf } from './wiring';

/** How a result is to be seen: it went well, it waits, it came to nothing, it was refused. */
export type Tone = 'good' | 'wait' | 'calm' | 'bad';

/** Where a control message is, as the server answers a POST. */
export interface Place {
  readonly partition: number;
  readonly offset: number;
}

/** What became of a control message so far. */
export interface Fate {
  readonly tone: Tone;
  readonly words: string;
  /** Nothing more will become of it. */
  readonly settled: boolean;
}

const TONES: Record<string, Tone> = {
  pending: 'wait',
  applied: 'good',
  unchanged: 'calm',
  superseded: 'calm',
  held: 'bad',
  rejected: 'bad',
  failed: 'bad',
};

export function toneOf(result: string): Tone {
  return TONES[result] ?? 'calm';
}

export const SENT: Fate = {
  tone: 'wait',
  words: 'Sent. Waiting for the orchestrator to read it …',
  settled: false,
};

/** In words, from its row of `control_raw` (none, while it was not read yet) and from the status. */
export function fateOf(row: Fields | null, status: Fields | null, seconds: number): Fate {
  const result = text(row?.result);
  if (!row || !result) return SENT;
  const tone = toneOf(result);
  const settled = result !== 'pending';
  return { tone, settled, words: sentence(result, text(row.reason), status, seconds) };
}

function sentence(result: string, reason: string, status: Fields | null, seconds: number): string {
  const why = reason ? ` ${reason}` : '';
  const now = status ? said(wiringOf(status)) : '';
  switch (result) {
    case 'pending':
      return 'Accepted. A new generation is on its way; the tables stay as they are until it is ready.';
    case 'applied':
      return `Done in ${seconds.toFixed(1)} s.${now ? ` Live now: ${now}.` : ''}${why}`;
    case 'held':
      return 'Held, and nothing was touched: what it would show looks wrong. See the review.';
    case 'unchanged':
      return 'Nothing to do: that is how it is wired already.';
    case 'superseded':
      return `Superseded: a newer message came before this one was live.${why}`;
    case 'rejected':
      return `Rejected, and nothing was touched:${why || ' no reason was given.'}`;
    case 'failed':
      return `Failed; what was live before stays live.${why}`;
    default:
      return `${result}.${why}`;
  }
}

/** The filter that shows one control message alone. */
export function filterFor(place: Place): string {
  return `partition = ${place.partition} and offset = ${place.offset}`;
}
