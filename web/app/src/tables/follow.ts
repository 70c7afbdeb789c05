import { DestroyRef, inject, type Signal, signal } from '@angular/core';
import { Evertable } from '@evertable/angular';
import type { Page, Refusal, View } from '@evertable/client';

/** A table that is followed: its last page, or why there is none. */
export interface Followed {
  readonly page: Signal<Page | null>;
  /** The name is known, and no generation is live yet. */
  readonly waiting: Signal<boolean>;
  readonly refusal: Signal<Refusal | null>;
  view(view: View): void;
  stop(): void;
}

/** Follows a table until its user is destroyed, or `stop`. To be called where things are injected. */
export function follow(table: string, view: View): Followed {
  return followWith(inject(Evertable), inject(DestroyRef), table, view);
}

/** The same, anywhere. */
export function followWith(evertable: Evertable, until: DestroyRef, table: string, view: View): Followed {
  const page = signal<Page | null>(null);
  const waiting = signal(false);
  const refusal = signal<Refusal | null>(null);
  const subscription = evertable.subscribe(table, view, {
    page: (next) => {
      page.set(next);
      waiting.set(false);
      refusal.set(null);
    },
    waiting: () => waiting.set(true),
    refused: (reason) => refusal.set(reason),
  });
  const forget = until.onDestroy(() => subscription.dispose());
  return {
    page: page.asReadonly(),
    waiting: waiting.asReadonly(),
    refusal: refusal.asReadonly(),
    view: (next) => subscription.view(next),
    stop: () => {
      forget();
      subscription.dispose();
    },
  };
}
