import { DOCUMENT } from '@angular/common';
import { computed, DestroyRef, Injectable, inject, signal } from '@angular/core';
import { firstChoice } from './operators';
import { TableList } from './table-list';

/** Which table is looked at: the address's fragment says so, so that reload, back and bookmarks work. */
@Injectable({ providedIn: 'root' })
export class ChosenTable {
  private readonly window = inject(DOCUMENT).defaultView as Window;
  private readonly list = inject(TableList);
  private readonly wanted = signal(this.inAddress());

  /** The wanted one if there is such a table, else the joined one; null while none is known. */
  readonly name = computed(() => {
    const names = this.list.names();
    if (names === null) return null;
    return names.includes(this.wanted()) ? this.wanted() : firstChoice(names);
  });

  constructor() {
    const look = () => this.wanted.set(this.inAddress());
    this.window.addEventListener('hashchange', look);
    inject(DestroyRef).onDestroy(() => this.window.removeEventListener('hashchange', look));
  }

  choose(name: string): void {
    this.window.location.hash = encodeURIComponent(name);
    this.wanted.set(name);
  }

  private inAddress(): string {
    const fragment = this.window.location.hash.slice(1);
    try {
      return decodeURIComponent(fragment);
    } catch {
      return fragment;
    }
  }
}
