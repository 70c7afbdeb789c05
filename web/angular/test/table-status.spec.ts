import type { Connection } from '@evertable/client';
import { describe, expect, it } from 'vitest';
import { statusLine } from '../src/table-status';

const now = 1_000_000;
const connection = (state: Connection['state'], more: Partial<Connection> = {}): Connection => ({
  state,
  since: now - 7000,
  attempts: 0,
  retryAt: null,
  reason: null,
  ...more,
});
const base = { table: 'final_ui', generation: 3, swappedAt: null, isWaiting: false, refusal: null, now };
const text = (state: Connection['state'], more: object = {}, how: Partial<Connection> = {}) =>
  statusLine({ ...base, connection: connection(state, how), ...more }).text;

describe('status', () => {
  it('describes every state', () => {
    expect(text('connecting', { generation: null })).toBe('Connecting…');
    expect(text('live')).toBe('Live · generation 3');
    expect(text('stale')).toBe('Stale for 7 s: no data from the server. These are the last rows.');
    expect(text('reconnecting', {}, { attempts: 4 })).toBe(
      'Reconnecting (attempt 4)… These are the last rows.',
    );
    expect(text('reconnecting', { generation: null })).toBe('Reconnecting (attempt 1)…');
    expect(text('disposed')).toBe('Closed.');
  });

  it('reports a swap for a while', () => {
    expect(text('live', { swappedAt: now - 1000 })).toBe('Swapped to generation 3');
    expect(text('live', { swappedAt: now - 60_000 })).toBe('Live · generation 3');
  });

  it('reports that there is no generation yet', () => {
    expect(text('live', { generation: null, isWaiting: true })).toMatch(
      /^final_ui is waiting for its first generation/,
    );
    expect(text('live', { generation: null })).toBe('Loading…');
  });

  it('reports why it is refused and what to do', () => {
    const reason = { condition: 'TOKEN_WRONG', message: 'This is not the token of this server' };
    expect(text('refused', { generation: null }, { reason })).toBe(
      'Refused: This is not the token of this server. Sign in again with the token of the server.',
    );
    const refusal = { condition: 'TABLE_NOT_FOUND', message: "There is no table 'x'." };
    expect(text('live', { generation: null, refusal })).toBe("There is no table 'x'.");
  });

  it('is not announced again every second or attempt', () => {
    const announced = (state: Connection['state'], at: number, attempts: number) =>
      statusLine({ ...base, connection: connection(state, { attempts }), now: at }).announced;
    expect(announced('stale', now, 0)).toBe(announced('stale', now + 5000, 0));
    expect(announced('reconnecting', now, 1)).toBe(announced('reconnecting', now, 9));
  });
});
