/** Decides when to ping a quiet socket and when to give it up. Times are in milliseconds. */

const QUIET_MS = 5_000;
const PING_TIMEOUT_MS = 5_000;
const LATE_MS = 1_000;

export type HeartbeatAction = 'wait' | 'ping' | 'dead';

/**
 * Tracks frames and pings of one socket.
 *
 * Timers fire late in background tabs and after sleep, when answers may still be unread. A late check therefore pings
 * once more before it gives up.
 */
export class Heartbeat {
  #receivedAt: number;
  #pingedAt: number | null = null;
  #hadLateCheck = false;

  constructor(now: number) {
    this.#receivedAt = now;
  }

  /** A frame of any type has arrived. */
  received(now: number): void {
    this.#receivedAt = now;
    this.#pingedAt = null;
    this.#hadLateCheck = false;
  }

  /** Returns whether to send a ping now: not if one is unanswered. */
  startPing(now: number): boolean {
    if (this.#pingedAt !== null) return false;
    this.#pingedAt = now;
    return true;
  }

  /** Returns what to do now; `ping` counts as sent. */
  check(now: number): HeartbeatAction {
    if (this.untilCheck(now) > 0) return 'wait';
    if (this.startPing(now)) return 'ping';
    if (this.#hadLateCheck || now - this.#dueAt < LATE_MS) return 'dead';
    this.#hadLateCheck = true;
    this.#pingedAt = now;
    return 'ping';
  }

  /** Returns the time until the next check is due. */
  untilCheck(now: number): number {
    this.#receivedAt = Math.min(this.#receivedAt, now); // the clock may be set back
    if (this.#pingedAt !== null) this.#pingedAt = Math.min(this.#pingedAt, now);
    return Math.max(0, this.#dueAt - now);
  }

  get #dueAt(): number {
    return this.#pingedAt === null ? this.#receivedAt + QUIET_MS : this.#pingedAt + PING_TIMEOUT_MS;
  }
}
