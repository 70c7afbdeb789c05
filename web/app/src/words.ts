/** Numbers, spans and moments as people say them. */

const WHOLE = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });
const SHORT = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });
const CLOCK = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' });
const DAY = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' });

/** `1,048,576`. */
export function whole(value: number): string {
  return WHOLE.format(value);
}

/** `1M`, for where there is little room. */
export function short(value: number): string {
  return SHORT.format(value);
}

/** `0.4`, `12`, `1,204`: one decimal where that says something. */
export function rate(value: number): string {
  return value > 0 && value < 10 ? value.toFixed(1) : whole(value);
}

/** `350 ms`, `4.2 s`, `12 min`, `3.5 h`. */
export function span(seconds: number): string {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 120) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

/** `12:04:09`, with the day in front if it is not today's; the text itself if it is no time. */
export function moment(iso: string | null, now = new Date()): string {
  if (!iso) return '';
  const at = new Date(iso);
  if (Number.isNaN(at.getTime())) return iso;
  const today = at.toDateString() === now.toDateString();
  return today ? CLOCK.format(at) : `${DAY.format(at)} ${CLOCK.format(at)}`;
}

/** `1 row`, `2 rows`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${whole(count)} ${count === 1 ? one : many}`;
}
