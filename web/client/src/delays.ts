/** Delays between attempts: for ever, in growing, jittered steps. */

const FIRST_MS = 50;
const MOST_MS = 5_000;

export type Delays = (random: () => number) => Iterator<number, never>;

/** Milliseconds to wait before the next attempt; jittered so that many viewers do not come back at once. */
export function* growing(random: () => number): Generator<number, never> {
  for (let step = FIRST_MS; ; step = Math.min(2 * step, MOST_MS)) {
    yield step * (0.5 + random() / 2);
  }
}
