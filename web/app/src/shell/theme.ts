import { DOCUMENT } from '@angular/common';
import { effect, Injectable, inject, signal } from '@angular/core';
import { readStorage, writeStorage } from '../storage';

export type ColorScheme = 'system' | 'light' | 'dark';

const KEY = 'evertable.theme';
const NEXT: Record<ColorScheme, ColorScheme> = { system: 'light', light: 'dark', dark: 'system' };

/** Light or dark colours: the system's choice until the user changes it. */
@Injectable({ providedIn: 'root' })
export class Theme {
  private readonly document = inject(DOCUMENT);
  private readonly window = this.document.defaultView as Window;
  private readonly chosen = signal<ColorScheme>(this.stored());

  readonly scheme = this.chosen.asReadonly();

  constructor() {
    effect(() => this.apply(this.chosen()));
  }

  /** Changes from system to light to dark to system. */
  toggle(): void {
    this.chosen.update((scheme) => NEXT[scheme]);
    writeStorage(this.window, 'localStorage', KEY, this.chosen());
  }

  private apply(scheme: ColorScheme): void {
    const root = this.document.documentElement;
    if (scheme === 'system') root.removeAttribute('data-theme');
    else root.setAttribute('data-theme', scheme);
  }

  private stored(): ColorScheme {
    const stored = readStorage(this.window, 'localStorage', KEY);
    return stored === 'light' || stored === 'dark' ? stored : 'system';
  }
}
