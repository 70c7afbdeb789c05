import type { Connection } from '@evertable/client';

export interface ConnectionWords {
  readonly words: string;
  /** What changes every second: to be seen, not to be read out each time. */
  readonly ticking: string;
  readonly tone: 'good' | 'wait' | 'bad';
}

/** How the connection is, for people who watch. */
export function wordsFor(connection: Connection, now: number): ConnectionWords {
  switch (connection.state) {
    case 'live':
      return { words: 'live', ticking: '', tone: 'good' };
    case 'connecting':
      return { words: 'connecting', ticking: ' …', tone: 'wait' };
    case 'stale':
      return { words: 'no sign of life', ticking: ` for ${seconds(now - connection.since)}`, tone: 'wait' };
    case 'reconnecting': {
      const wait = (connection.retryAt ?? 0) - now;
      const next = wait > 1_500 ? `, next try in ${seconds(wait)}` : '';
      return { words: 'reconnecting', ticking: `${next} …`, tone: 'wait' };
    }
    case 'refused':
      return { words: 'refused', ticking: '', tone: 'bad' };
    case 'disposed':
      return { words: 'ended', ticking: '', tone: 'bad' };
  }
}

function seconds(ms: number): string {
  return `${Math.max(Math.round(ms / 1000), 0)} s`;
}
