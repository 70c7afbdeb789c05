import { DestroyRef, Injector, inject, type Signal, signal } from '@angular/core';
import { Evertable, withMarks } from '@evertable/angular';
import type { Page, Refusal, Value, View } from '@evertable/client';

/** A subscription as signals. */
export interface Followed {
  /** The last page; null before the first. */
  readonly page: Signal<Page | null>;
  readonly refusal: Signal<Refusal | null>;
  view(view: View): void;
  stop(): void;
}

/** Follows a table until the injector's owner is destroyed, or until `stop()`. */
export function follow(table: string, view: View, injector = inject(Injector)): Followed {
  const page = signal<Page | null>(null);
  const refusal = signal<Refusal | null>(null);
  const subscription = injector.get(Evertable).subscribe(table, view, {
    page: (next) => {
      page.set(next);
      refusal.set(null);
    },
    refused: (reason) => refusal.set(reason),
  });
  const unregister = injector.get(DestroyRef).onDestroy(() => subscription.dispose());
  return {
    page: page.asReadonly(),
    refusal: refusal.asReadonly(),
    view: (next) => subscription.view(next),
    stop: () => {
      unregister();
      subscription.dispose();
    },
  };
}

/** A row of an operator table, by column. */
export type Fields = Readonly<Record<string, Value>>;

/** Returns the rows of a page by column; none without a page. */
export function rowsOf(page: Page | null): readonly Fields[] {
  if (!page) return [];
  return page.rows.map((row) =>
    Object.fromEntries(page.columns.map(({ name }, index) => [name, row[index] ?? null])),
  );
}

/** Returns a value as text. Direction overrides are marked, because anybody may have written it. */
export function textOf(value: Value | undefined): string {
  return value === null || value === undefined ? '' : withMarks(String(value));
}

export function numberOf(value: Value | undefined): number {
  return Number(value ?? 0) || 0;
}
