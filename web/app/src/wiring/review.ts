import { whole } from '../words';

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

/** One line of the comparison of what is live with what the swap would show. */
export interface Line {
  readonly label: string;
  readonly before: string;
  readonly after: string;
}

export function comparison(review: Review): readonly Line[] {
  const lines = review.sources.flatMap((one) => [
    { label: `${one.source} topic`, before: one.topic_before ?? '–', after: one.topic },
    { label: `${one.source} rows`, before: count(one.rows_before), after: count(one.rows) },
    { label: `${one.source} rejected`, before: count(one.rejected_before), after: count(one.rejected) },
  ]);
  const { rows, rows_before } = review.joined;
  return [...lines, { label: 'joined rows', before: count(rows_before), after: count(rows) }];
}

function count(rows: number | null): string {
  return rows === null ? '–' : whole(rows);
}
