import { DOCUMENT } from '@angular/common';
import { effect, Injectable, inject, signal } from '@angular/core';

export type Shade = 'system' | 'light' | 'dark';

const KEY = 'evertable.theme';
const TURN: Record<Shade, Shade> = { system: 'light', light: 'dark', dark: 'system' };

/** Light or dark: as the system has it, until a person says otherwise. */
@Injectable({ providedIn: 'root' })
export class Theme {
  private readonly document = inject(DOCUMENT);
  private readonly chosen = signal<Shade>(this.kept());

  readonly shade = this.chosen.asReadonly();

  constructor() {
    effect(() => this.wear(this.chosen()));
  }

  /** System, light, dark, and round again. */
  turn(): void {
    this.chosen.update((shade) => TURN[shade]);
    try {
      this.document.defaultView?.localStorage.setItem(KEY, this.chosen());
    } catch {
      // storage is switched off: it lasts until the next load
    }
  }

  private wear(shade: Shade): void {
    const root = this.document.documentElement;
    if (shade === 'system') root.removeAttribute('data-theme');
    else root.setAttribute('data-theme', shade);
  }

  private kept(): Shade {
    try {
      const kept = this.document.defaultView?.localStorage.getItem(KEY);
      return kept === 'light' || kept === 'dark' ? kept : 'system';
    } catch {
      return 'system';
    }
  }
}
