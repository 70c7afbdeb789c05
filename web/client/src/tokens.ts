/** Asks for the token, one question at a time. */

import type { Token } from './types.js';

export class Tokens {
  #asked: Promise<string | null> | null = null;
  #again = false;

  constructor(private readonly token: Token) {}

  /** Whether another answer may come by itself. */
  get mayChange(): boolean {
    return typeof this.token === 'function';
  }

  /** The token now; who asks while a question is open gets its answer. */
  ask(): Promise<string | null> {
    this.#asked ??= this.#answer().finally(() => {
      this.#asked = null;
    });
    return this.#asked;
  }

  /** The answer to an open question is out of date already: it is asked once more. */
  renew(): void {
    this.#again = this.#asked !== null;
  }

  async #answer(): Promise<string | null> {
    for (;;) {
      this.#again = false;
      try {
        const token = await (typeof this.token === 'function' ? this.token() : this.token);
        if (!this.#again) return token || null;
      } catch (error) {
        if (!this.#again) throw error;
      }
    }
  }
}
