/** Fetches the token, with one request at a time. */

import type { Token } from './types.js';

export class TokenSource {
  #pending: Promise<string | null> | null = null;
  #isOutdated = false;

  constructor(private readonly token: Token) {}

  /** Whether the token may change without a new client. */
  get mayChange(): boolean {
    return typeof this.token === 'function';
  }

  /** Returns the current token; callers share a pending request. */
  get(): Promise<string | null> {
    this.#pending ??= this.#fetch().finally(() => {
      this.#pending = null;
    });
    return this.#pending;
  }

  /** Makes a pending request ask once more, because its answer is out of date. */
  invalidate(): void {
    this.#isOutdated = this.#pending !== null;
  }

  async #fetch(): Promise<string | null> {
    for (;;) {
      this.#isOutdated = false;
      try {
        const token = await (typeof this.token === 'function' ? this.token() : this.token);
        if (!this.#isOutdated) return token || null;
      } catch (error) {
        if (!this.#isOutdated) throw error;
      }
    }
  }
}
