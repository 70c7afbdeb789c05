import { computed, effect, type Signal, signal, untracked } from '@angular/core';
import type { Change, Column, Connection, Page, Refusal } from '@evertable/client';
import type { RowRange } from './row-window.js';
import { TEXTS } from './texts.js';

/** What the status line depends on. */
export interface StatusInput {
  readonly table: string;
  readonly connection: Connection;
  /** The generation on screen; null before the first rows. */
  readonly generation: number | null;
  /** When a swap was shown, in milliseconds since 1970. */
  readonly swappedAt: number | null;
  readonly isWaiting: boolean;
  readonly refusal: Refusal | null;
  readonly now: number;
}

export interface StatusLine {
  readonly tone: 'good' | 'busy' | 'bad';
  /** The visible text; may count seconds. */
  readonly text: string;
  /** The text for screen readers, which does not change every second. */
  readonly announced: string;
}

/** How long a swap is reported. */
const SWAP_SHOWN_MS = 8000;

/** Returns the state of a table as text. */
export function statusLine(input: StatusInput): StatusLine {
  const { connection, generation, refusal, now } = input;
  const lastRows = generation === null ? '' : TEXTS.lastRows;
  switch (connection.state) {
    case 'connecting':
      return line('busy', TEXTS.connecting);
    case 'stale': {
      const seconds = Math.max(0, Math.round((now - connection.since) / 1000));
      return { tone: 'bad', text: TEXTS.staleFor(seconds), announced: TEXTS.stale };
    }
    case 'reconnecting': {
      const text = TEXTS.reconnecting(Math.max(1, connection.attempts)) + lastRows;
      return { tone: 'bad', text, announced: TEXTS.reconnecting(1) + lastRows };
    }
    case 'refused':
      return line('bad', connection.reason ? TEXTS.refused(connection.reason) + lastRows : TEXTS.closed);
    case 'disposed':
      return line('bad', TEXTS.closed);
  }
  if (generation === null) {
    if (refusal) return line('bad', TEXTS.cannotShow(refusal));
    return line('busy', input.isWaiting ? TEXTS.waiting(input.table) : TEXTS.loading);
  }
  if (input.isWaiting) return line('busy', TEXTS.waiting(input.table) + lastRows);
  const isRecent = input.swappedAt !== null && now - input.swappedAt < SWAP_SHOWN_MS;
  return line('good', isRecent ? TEXTS.swapped(generation) : TEXTS.live(generation));
}

function line(tone: StatusLine['tone'], text: string): StatusLine {
  return { tone, text, announced: text };
}

/** The current page without its rows, which change too often for anything but the grid. */
export interface PageSummary {
  readonly generation: number;
  readonly total: number;
  readonly columns: readonly Column[];
}

/** What a table shows, and its status line. */
export class TableStatus {
  readonly page = signal<PageSummary | null>(null, { equal: sameSummary });
  readonly visibleRows = signal<RowRange | null>(null, {
    equal: (one, other) => one?.first === other?.first && one?.last === other?.last,
  });
  readonly missing = signal<readonly string[]>([]);
  readonly refusal = signal<Refusal | null>(null);
  readonly isWaiting = signal(false);
  private readonly swappedAt = signal<number | null>(null);
  private readonly now = signal(Date.now());

  readonly line: Signal<StatusLine> = computed(() =>
    statusLine({
      table: this.name(),
      connection: this.connection(),
      generation: this.page()?.generation ?? null,
      swappedAt: this.swappedAt(),
      isWaiting: this.isWaiting(),
      refusal: this.refusal(),
      now: this.now(),
    }),
  );

  /** The text in place of rows; null if there are rows. */
  readonly placard: Signal<string | null> = computed(() => {
    const page = this.page();
    if (!page) return this.line().text;
    if (page.total > 0) return null;
    return this.isFiltered() ? TEXTS.noMatch : TEXTS.emptyTable;
  });

  constructor(
    private readonly name: Signal<string>,
    private readonly connection: Signal<Connection>,
    private readonly isFiltered: Signal<boolean>,
  ) {
    effect((onCleanup) => {
      const isStale = this.connection().state === 'stale';
      const swappedAt = this.swappedAt();
      this.now.set(Date.now());
      const timer = isStale
        ? setInterval(() => this.now.set(Date.now()), 1000)
        : swappedAt !== null
          ? setTimeout(() => this.swappedAt.set(null), SWAP_SHOWN_MS)
          : undefined;
      onCleanup(() => clearInterval(timer));
    });
  }

  update({ generation, total, columns }: Page, change: Change): void {
    if (change.kind === 'page' && change.swapped && untracked(this.page)) this.swappedAt.set(Date.now());
    this.isWaiting.set(false);
    this.page.set({ generation, total, columns });
  }

  /** Resets everything, before another table is shown. */
  clear(): void {
    this.page.set(null);
    this.visibleRows.set(null);
    this.missing.set([]);
    this.refusal.set(null);
    this.isWaiting.set(false);
    this.swappedAt.set(null);
  }
}

function sameSummary(one: PageSummary | null, other: PageSummary | null): boolean {
  return (
    one?.generation === other?.generation && one?.total === other?.total && one?.columns === other?.columns
  );
}
