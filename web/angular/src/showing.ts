import { computed, effect, type Signal, signal, untracked } from '@angular/core';
import type { Change, Column, Connection, Page, Refusal } from '@evertable/client';
import { type Status, SWAP_SHOWN, statusOf } from './status.js';
import { TEXTS } from './texts.js';

/** What is known of the rows on screen, without the rows: they change too often for anyone but the grid. */
export interface Facts {
  readonly generation: number;
  readonly total: number;
  readonly columns: readonly Column[];
}

/** What a table shows now, and how it stands, in words. */
export class Showing {
  readonly facts = signal<Facts | null>(null, { equal: sameFacts });
  readonly seen = signal<{ first: number; last: number } | null>(null, {
    equal: (one, other) => one?.first === other?.first && one?.last === other?.last,
  });
  readonly missing = signal<readonly string[]>([]);
  readonly refusal = signal<Refusal | null>(null);
  readonly waiting = signal(false);
  private readonly swappedAt = signal<number | null>(null);
  private readonly now = signal(Date.now());

  readonly status: Signal<Status> = computed(() =>
    statusOf({
      table: this.name(),
      connection: this.connection(),
      generation: this.facts()?.generation ?? null,
      swappedAt: this.swappedAt(),
      waiting: this.waiting(),
      refusal: this.refusal(),
      now: this.now(),
    }),
  );

  /** What stands in place of rows; null if there are some. */
  readonly placard: Signal<string | null> = computed(() => {
    const facts = this.facts();
    if (!facts) return this.status().text;
    if (facts.total > 0) return null;
    return this.isFiltered() ? TEXTS.noMatch : TEXTS.emptyTable;
  });

  constructor(
    private readonly name: Signal<string>,
    private readonly connection: Signal<Connection>,
    private readonly isFiltered: Signal<boolean>,
  ) {
    effect((stop) => {
      const counts = this.connection().state === 'stale';
      const swappedAt = this.swappedAt();
      this.now.set(Date.now());
      const timer = counts
        ? setInterval(() => this.now.set(Date.now()), 1000)
        : swappedAt !== null
          ? setTimeout(() => this.swappedAt.set(null), SWAP_SHOWN)
          : undefined;
      stop(() => clearInterval(timer));
    });
  }

  take({ generation, total, columns }: Page, change: Change): void {
    if (change.kind === 'page' && change.swapped && untracked(this.facts)) this.swappedAt.set(Date.now());
    this.waiting.set(false);
    this.facts.set({ generation, total, columns });
  }

  /** Another table. */
  clear(): void {
    this.facts.set(null);
    this.seen.set(null);
    this.missing.set([]);
    this.refusal.set(null);
    this.waiting.set(false);
    this.swappedAt.set(null);
  }
}

function sameFacts(one: Facts | null, other: Facts | null): boolean {
  return (
    one?.generation === other?.generation && one?.total === other?.total && one?.columns === other?.columns
  );
}
