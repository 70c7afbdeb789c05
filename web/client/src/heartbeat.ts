/** When to ask for a sign of life, and when silence means that the other side is gone. Times are in milliseconds. */

const QUIET_MS = 5_000;
const PATIENCE_MS = 5_000;
const LATE_MS = 1_000;

export type Look = 'wait' | 'ask' | 'dead';

/**
 * Timers fire late in background tabs and after sleep, when answers may lie unread behind them. A late look therefore
 * asks once more before it condemns.
 */
export class Heartbeat {
  #heard: number;
  #asked: number | null = null;
  #doubted = false;

  constructor(now: number) {
    this.#heard = now;
  }

  /** Something has come; anything is a sign of life. */
  heard(now: number): void {
    this.#heard = now;
    this.#asked = null;
    this.#doubted = false;
  }

  /** Whether it is worth asking right now; if so, it counts as asked. */
  asks(now: number): boolean {
    if (this.#asked !== null) return false;
    this.#asked = now;
    return true;
  }

  /** What to do now; `ask` counts as asked. */
  look(now: number): Look {
    if (this.wait(now) > 0) return 'wait';
    if (this.asks(now)) return 'ask';
    if (this.#doubted || now - this.#due < LATE_MS) return 'dead';
    this.#doubted = true;
    this.#asked = now;
    return 'ask';
  }

  /** How long until the next look. */
  wait(now: number): number {
    this.#heard = Math.min(this.#heard, now); // the clock may be set back
    if (this.#asked !== null) this.#asked = Math.min(this.#asked, now);
    return Math.max(0, this.#due - now);
  }

  get #due(): number {
    return this.#asked === null ? this.#heard + QUIET_MS : this.#asked + PATIENCE_MS;
  }
}
