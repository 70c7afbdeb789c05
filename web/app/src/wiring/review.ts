/** What `GET /api/status` has of the last swap that was held back or went live with a warning. */
export interface Review {
  readonly generation: number;
  readonly result: 'held' | 'applied';
  /** The control message that asks for this wiring. */
  readonly message: Readonly<Record<string, string>>;
  readonly reasons: readonly string[];
  readonly warnings: readonly string[];
  readonly sources: readonly ReviewedSource[];
  readonly joined: { readonly rows: number; readonly rows_before: number | null };
}

export interface ReviewedSource {
  readonly source: string;
  readonly key: string;
  readonly topic: string;
  readonly topic_before: string | null;
  readonly rows: number;
  readonly rows_before: number | null;
  readonly rejected: number;
  readonly rejected_before: number | null;
  readonly columns: readonly ReviewedColumn[];
}

export interface ReviewedColumn {
  readonly name: string;
  readonly nulls: number;
  readonly rejected: number;
}

/** `users_v1 → users_v2`; one of them where nothing changed, or nothing was before. */
export function change(before: string | null, now: string): string {
  return before === null || before === now ? now : `${before} → ${now}`;
}
