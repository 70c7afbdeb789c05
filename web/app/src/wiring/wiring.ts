import { withMarks } from '@evertable/angular';
import type { Page, Value } from '@evertable/client';

/** A row of an operators' table, by column. */
export type Fields = Readonly<Record<string, Value>>;

const TOPIC = 'Topic';

/** Which topics are joined, and how. */
export interface Wiring {
  readonly topics: readonly SourceTopic[];
  readonly join: string;
}

export interface SourceTopic {
  /** The source's name, such as `users`. */
  readonly source: string;
  /** What a control message calls it, such as `usersTopic`. */
  readonly key: string;
  readonly topic: string;
}

export function fieldsOf(page: Page): readonly Fields[] {
  return page.rows.map((row) =>
    Object.fromEntries(page.columns.map(({ name }, place) => [name, row[place] ?? null])),
  );
}

/** The sources come first among the columns of the status, as `<source>Topic`, the left one before the right one. */
export function wiringOf(row: Fields): Wiring {
  const topics = Object.keys(row)
    .filter((key) => key.endsWith(TOPIC))
    .map((key) => ({ key, source: key.slice(0, -TOPIC.length), topic: text(row[key]) }));
  return { topics, join: text(row.joinType) };
}

/** `users_v1, left join with accounts_v1`; what is empty is left out. */
export function said(wiring: Wiring): string {
  const [left, right] = wiring.topics.map(({ topic }) => topic);
  return left && right && wiring.join ? `${left}, ${wiring.join} join with ${right}` : '';
}

/** What a control message asked for: `usersTopic users_v2, joinType inner`. */
export function asked(row: Fields): string {
  const { topics, join } = wiringOf(row);
  const parts = topics.filter(({ topic }) => topic).map(({ source, topic }) => `${source} from ${topic}`);
  return [...parts, ...(join ? [`${join} join`] : [])].join(', ') || 'nothing that can be read';
}

/** Shows a value of an operators' table; others may have written it, so direction overrides are marked. */
export function text(value: Value | undefined): string {
  return value === null || value === undefined ? '' : withMarks(String(value));
}

export function count(value: Value | undefined): number {
  return typeof value === 'number' ? value : Number(value ?? 0) || 0;
}
