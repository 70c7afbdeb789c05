/** What is measured of the flow over time: pure, so that it can be tested without a server. */

/** One look at the server. */
export interface Sample {
  /** In milliseconds since 1970. */
  readonly at: number;
  /** Rows that became visible per second; null if nothing tells. */
  readonly rate: number | null;
  /** How old the newest row that is shown is, in seconds; null if nothing tells. */
  readonly age: number | null;
}

/** What `GET /api/status` tells that matters here. */
export interface Told {
  readonly orchestrator?: { readonly rows?: unknown; readonly generation?: unknown } | null;
  readonly flow?: { readonly rows_per_s?: unknown; readonly data_age_s?: unknown };
}

/** Rows that are visible, and of which generation. */
export interface Count {
  readonly at: number;
  readonly rows: number;
  readonly generation: number;
}

/** How far back the charts look. */
export const WINDOW_MS = 5 * 60_000;

export function countIn(told: Told, at: number): Count | null {
  const rows = number(told.orchestrator?.rows);
  const generation = number(told.orchestrator?.generation);
  return rows === null || generation === null ? null : { at, rows, generation };
}

/** Rows per second between two counts; null over a swap, where the difference means nothing. */
export function rateBetween(before: Count | null, now: Count | null): number | null {
  if (!before || !now || before.generation !== now.generation || now.at <= before.at) return null;
  return (Math.max(now.rows - before.rows, 0) * 1000) / (now.at - before.at);
}

/** The server's own rate where it tells one, else what the counts make of it. */
export function sampleOf(told: Told, at: number, before: Count | null): Sample {
  return {
    at,
    rate: number(told.flow?.rows_per_s) ?? rateBetween(before, countIn(told, at)),
    age: number(told.flow?.data_age_s),
  };
}

/** With the new one, without those that are too old to be drawn. */
export function keep(samples: readonly Sample[], sample: Sample): readonly Sample[] {
  return [...samples.filter((one) => one.at > sample.at - WINDOW_MS), sample];
}

function number(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}
