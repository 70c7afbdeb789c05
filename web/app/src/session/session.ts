import { signal } from '@angular/core';
import { readStorage, writeStorage } from '../storage';

const KEY = 'evertable.token';

/** Keeps the token for this tab until it is closed: never in the address, never on disk. */
export class Session {
  private readonly current = signal<string | null>(null);

  /** The token for the server; null if there is none. */
  readonly token = this.current.asReadonly();

  constructor(private readonly window: Window) {
    this.current.set(this.takeFromAddress() ?? readStorage(window, 'sessionStorage', KEY));
    // a link that is opened in a tab which shows the page already does not reload it
    window.addEventListener('hashchange', () =>
      this.current.update((token) => this.takeFromAddress() ?? token),
    );
  }

  signIn(token: string): void {
    this.store(token);
    this.current.set(token);
  }

  /** Removes the token, and reloads the page to remove all rows. */
  forget(): void {
    this.store(null);
    this.current.set(null);
    this.window.location.reload();
  }

  /** Moves the token from the link into storage, because the address bar and the history must not show it. */
  private takeFromAddress(): string | null {
    const { hash, pathname, search } = this.window.location;
    const token = tokenIn(hash);
    if (token === null) return null;
    this.window.history.replaceState(null, '', pathname + search);
    this.store(token);
    return token;
  }

  private store(token: string | null): void {
    writeStorage(this.window, 'sessionStorage', KEY, token);
  }
}

/** Returns the token in the fragment of a printed link, `http://host:10000/#token=…`; null if there is none. */
export function tokenIn(fragment: string): string | null {
  const found = /^#?token=(.*)$/s.exec(fragment);
  if (!found) return null;
  try {
    return decodeURIComponent(found[1] ?? '').trim() || null;
  } catch {
    return found[1]?.trim() || null; // a stray % is part of the token
  }
}
