import { signal } from '@angular/core';
import { tokenIn } from './token';

const KEY = 'evertable.token';

/** Keeps the token for this tab alone, until it is closed: never in the address, never on disk. */
export class Session {
  private readonly held = signal<string | null>(null);

  /** What the server is asked with; null if there is none. */
  readonly token = this.held.asReadonly();

  constructor(private readonly window: Window) {
    this.held.set(this.take() ?? this.kept());
    // a link that is opened in a tab which shows the page already loads nothing anew
    window.addEventListener('hashchange', () => this.held.update((token) => this.take() ?? token));
  }

  enter(token: string): void {
    this.keep(token);
    this.held.set(token);
  }

  /** Forgets it, and all rows that it let us see: the page begins anew. */
  forget(): void {
    this.keep(null);
    this.held.set(null);
    this.window.location.reload();
  }

  /** From the link that was opened; the address bar and the history must not show it any longer. */
  private take(): string | null {
    const { hash, pathname, search } = this.window.location;
    const token = tokenIn(hash);
    if (token === null) return null;
    this.window.history.replaceState(null, '', pathname + search);
    this.keep(token);
    return token;
  }

  private kept(): string | null {
    try {
      return this.window.sessionStorage.getItem(KEY);
    } catch {
      return null; // storage is switched off: the token lasts until the next load
    }
  }

  private keep(token: string | null): void {
    try {
      if (token === null) this.window.sessionStorage.removeItem(KEY);
      else this.window.sessionStorage.setItem(KEY, token);
    } catch {
      // as above
    }
  }
}
