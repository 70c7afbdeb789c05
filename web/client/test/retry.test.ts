import { describe, expect, it } from 'vitest';
import { growing } from '../src/delays';
import { classify, type End, proven, type Seen } from '../src/verdict';

const UNSEEN: Seen = { live: false, page: false, liveMs: 0 };

function first(count: number, random: () => number): number[] {
  const delays = growing(random);
  return Array.from({ length: count }, () => delays.next().value);
}

describe('delays', () => {
  it('double from 50 ms to 5 s, and stay there', () => {
    expect(first(10, () => 1)).toEqual([50, 100, 200, 400, 800, 1600, 3200, 5000, 5000, 5000]);
  });

  it('are jittered between half and whole', () => {
    expect(first(3, () => 0)).toEqual([25, 50, 100]);
    expect(first(8, () => 0.5).at(-1)).toBe(3750);
  });
});

describe('the verdict', () => {
  it('is refused for 401 and 403 alone', () => {
    for (const status of [400, 401, 403, 404, 500, 503, undefined]) {
      const answer = { condition: 'X', message: 'x', ...(status && { status }) };
      const { state, reason } = classify({ kind: 'unopened', answer }, UNSEEN);
      expect(state).toBe(status === 401 || status === 403 ? 'refused' : 'reconnecting');
      expect(reason).toBe(answer);
    }
  });

  it('is stale for silence on a live socket alone', () => {
    expect(classify({ kind: 'silent' }, { ...UNSEEN, live: true }).state).toBe('stale');
    expect(classify({ kind: 'silent' }, UNSEEN).state).toBe('reconnecting');
  });

  it('says in words what happened', () => {
    const words = (end: End) => classify(end, UNSEEN).reason;
    expect(words({ kind: 'closed', code: 1012, reason: '' })).toMatchObject({ condition: 'SERVER_RESTARTS' });
    expect(words({ kind: 'closed', code: 1006, reason: '' }).message).toContain('code 1006');
    expect(words({ kind: 'closed', code: 4400, reason: 'bad id' }).message).toContain('bad id');
    expect(words({ kind: 'no token', error: new Error('no session.') }).message).toBe(
      'There is no token to show: no session.',
    );
    expect(words({ kind: 'no token', error: undefined }).message).toContain('undefined');
  });
});

describe('a socket', () => {
  const closed: End = { kind: 'closed', code: 1006, reason: '' };

  it('has proven itself with a page, or when it was live for a while', () => {
    expect(proven(closed, { live: true, page: false, liveMs: 4_999 })).toBe(false);
    expect(proven(closed, { live: true, page: false, liveMs: 5_000 })).toBe(true);
    expect(proven(closed, { live: true, page: true, liveMs: 1 })).toBe(true);
  });

  it('has not if it ended over what will be so again', () => {
    const seen = { live: true, page: true, liveMs: 1 };
    for (const code of [1009, 1011, 4400]) expect(proven({ ...closed, code }, seen)).toBe(false);
    expect(proven({ kind: 'unreadable', problem: '' }, seen)).toBe(false);
  });
});
