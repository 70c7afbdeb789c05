import { type Fields, textOf } from '../tables/follow';

const TOPIC_SUFFIX = 'Topic';

/** Which topics are joined, and how. */
export interface Wiring {
  readonly topics: readonly SourceTopic[];
  readonly join: string;
}

export interface SourceTopic {
  /** The source's name, such as `users`. */
  readonly source: string;
  /** The field of a control message, such as `usersTopic`. */
  readonly key: string;
  readonly topic: string;
}

/** Returns the wiring in a row, whose first columns are `<source>Topic`, the left source first. */
export function wiringOf(row: Fields): Wiring {
  const topics = Object.keys(row)
    .filter((key) => key.endsWith(TOPIC_SUFFIX))
    .map((key) => ({ key, source: key.slice(0, -TOPIC_SUFFIX.length), topic: textOf(row[key]) }));
  return { topics, join: textOf(row.joinType) };
}

/** Returns `users_v1, left join with accounts_v1`; an empty text if a part is unknown. */
export function describeWiring(wiring: Wiring): string {
  const [left, right] = wiring.topics.map(({ topic }) => topic);
  return left && right && wiring.join ? `${left}, ${wiring.join} join with ${right}` : '';
}

/** Returns what a control message requests, such as `users from users_v2, inner join`. */
export function describeRequest(row: Fields): string {
  const { topics, join } = wiringOf(row);
  const parts = topics.filter(({ topic }) => topic).map(({ source, topic }) => `${source} from ${topic}`);
  return [...parts, ...(join ? [`${join} join`] : [])].join(', ') || 'nothing readable';
}
