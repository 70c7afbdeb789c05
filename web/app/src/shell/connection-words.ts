import type { Connection } from '@evertable/client';

export interface ConnectionWords {
  readonly words: string;
  readonly tone: 'good' | 'wait' | 'bad';
}

/** How the connection is, for people who watch. */
export function wordsFor(connection: Connection, now: number): ConnectionWords {
  switch (connection.state) {
    case 'live':
      return { words: 'live', tone: 'good' };
    case 'connecting':
      return { words: 'connecting …', tone: 'wait' };
    case 'stale':
      return { words: `no sign of life for ${seconds(now - connection.since)}`, tone: 'wait' };
    case 'reconnecting': {
      const wait = (connection.retryAt ?? 0) - now;
      const next = wait > 1_500 ? `, next try in ${seconds(wait)}` : '';
      return { words: `reconnecting${next} …`, tone: 'wait' };
    }
    case 'refused':
      return { words: 'refused', tone: 'bad' };
    case 'disposed':
      return { words: 'ended', tone: 'bad' };
  }
}

function seconds(ms: number): string {
  return `${Math.max(Math.round(ms / 1000), 0)} s`;
}
