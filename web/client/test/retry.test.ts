import { describe, expect, it } from 'vitest';
import { classify, type End, exponentialBackoff, resetsBackoff, type SocketHistory } from '../src/retry';

const NO_HISTORY: SocketHistory = { wasLive: false, hadPage: false, liveMs: 0 };

function first(count: number, random: () => number): number[] {
  const delays = exponentialBackoff(random);
  return Array.from({ length: count }, () => delays.next().value);
}

describe('the backoff', () => {
  it('doubles from 50 ms to 5 s, and stays there', () => {
    expect(first(10, () => 1)).toEqual([50, 100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000]);
  });

  it('is jittered between half and whole', () => {
    expect(first(3, () => 0)).toEqual([25, 50, 100]);
    expect(first(8, () => 0.5).at(-1)).toBe(3750);
  });
});

describe('the classifier', () => {
  it('gives refused for 401 and 403 only', () => {
    for (const status of [400, 401, 403, 404, 500, 503, undefined]) {
      const answer = { condition: 'X', message: 'x', ...(status && { status }) };
      const { state, reason } = classify({ kind: 'unopened', answer }, NO_HISTORY);
      expect(state).toBe(status === 401 || status === 403 ? 'refused' : 'reconnecting');
      expect(reason).toBe(answer);
    }
  });

  it('gives stale for silence on a live socket only', () => {
    expect(classify({ kind: 'silent' }, { ...NO_HISTORY, wasLive: true }).state).toBe('stale');
    expect(classify({ kind: 'silent' }, NO_HISTORY).state).toBe('reconnecting');
  });

  it('gives a reason for people', () => {
    const words = (end: End) => classify(end, NO_HISTORY).reason;
    expect(words({ kind: 'closed', code: 1012, reason: '' })).toMatchObject({ condition: 'SERVER_RESTARTS' });
    expect(words({ kind: 'closed', code: 1006, reason: '' }).message).toContain('code 1006');
    expect(words({ kind: 'closed', code: 4400, reason: 'bad id' }).message).toContain('bad id');
    expect(words({ kind: 'no token', error: new Error('no session.') }).message).toBe(
      'The token could not be fetched: no session.',
    );
    expect(words({ kind: 'no token', error: undefined }).message).toContain('undefined');
  });
});

describe('the end of a socket', () => {
  const closed: End = { kind: 'closed', code: 1006, reason: '' };

  it('resets the backoff after a page, or after a while of being live', () => {
    expect(resetsBackoff(closed, { wasLive: true, hadPage: false, liveMs: 4_999 })).toBe(false);
    expect(resetsBackoff(closed, { wasLive: true, hadPage: false, liveMs: 5_000 })).toBe(true);
    expect(resetsBackoff(closed, { wasLive: true, hadPage: true, liveMs: 1 })).toBe(true);
  });

  it('does not reset the backoff after a fault that will repeat', () => {
    const seen = { wasLive: true, hadPage: true, liveMs: 1 };
    for (const code of [1009, 1011, 4400]) expect(resetsBackoff({ ...closed, code }, seen)).toBe(false);
    expect(resetsBackoff({ kind: 'unreadable', problem: '' }, seen)).toBe(false);
  });
});
