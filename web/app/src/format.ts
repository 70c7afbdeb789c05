/** Formats numbers, durations, times and refusals for people. */

import { type Refusal, RequestRefused } from '@evertable/client';

const WHOLE = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const SHORT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const CLOCK = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });

/** Returns `1,048,576`. */
export function whole(value: number): string {
  return WHOLE.format(value);
}

/** Returns `1M`, for narrow places. */
export function short(value: number): string {
  return SHORT.format(value);
}

/** Returns `0.4`, `12` or `1,204`: one decimal for small numbers. */
export function rate(value: number): string {
  return value > 0 && value < 10 ? value.toFixed(1) : whole(value);
}

/** Returns `350 ms`, `4.2 s`, `12 min` or `3.5 h`. */
export function span(seconds: number): string {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 120) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

/** Returns `12:04:09`, with the day in front unless it is today; the text itself if it is not a time. */
export function moment(iso: string | null, now = new Date()): string {
  if (!iso) return '';
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return iso;
  const today = at.toDateString() === now.toDateString();
  return today ? CLOCK.format(at) : `${DAY.format(at)} ${CLOCK.format(at)}`;
}

/** Returns `1 row` or `2 rows`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${whole(count)} ${count === 1 ? one : many}`;
}

/** Returns the server's refusal of a request, or one for an invalid answer. */
export function refusalOf(error: unknown): Refusal {
  if (error instanceof RequestRefused) return error.refusal;
  return { condition: 'SERVER_ANSWER', message: `The server's answer is invalid: ${error}.` };
}

const REFUSAL_TEXTS: Record<string, string> = {
  CONTROL_DISABLED: 'This server runs without an orchestrator: it shows tables, and has no wiring to change.',
  CONTROL_READ_ONLY:
    'Evertable may not write to the control topic, so the page cannot swap. Send the message with a producer that may.',
  NOTHING_BEFORE: 'There is no previous wiring to roll back to.',
  TOKEN_MISSING: 'The server requires a token.',
  TOKEN_WRONG: 'The server no longer accepts the token.',
  SERVER_UNREACHABLE:
    'The server does not answer, so nothing was sent. Try again when the connection is live.',
};

/** Returns a refusal as text: the page's own if it has more detail, else the server's. */
export function refusalText(refusal: Refusal): string {
  return REFUSAL_TEXTS[refusal.condition] ?? `${refusal.message} (${refusal.condition})`;
}
