import { describe, expect, it } from 'vitest';
import { begun, MOVES, moved } from '../src/state';
import type { ConnectionState } from '../src/types';

const STATES = Object.keys(MOVES) as ConnectionState[];

describe('the connection', () => {
  it('makes the moves of the table and no other, and names both states of one that it does not make', () => {
    for (const from of STATES) {
      for (const to of STATES.filter((state) => state !== from)) {
        const before = { ...begun(1), state: from };
        if (MOVES[from].includes(to))
          expect(moved(before, { state: to }, 2)).toMatchObject({ state: to, since: 2 });
        else expect(() => moved(before, { state: to }, 2)).toThrow(`from ${from} to ${to}`);
      }
    }
  });

  it('ends with disposed, which can be reached from everywhere', () => {
    expect(MOVES.disposed).toEqual([]);
    for (const from of STATES) if (from !== 'disposed') expect(MOVES[from]).toContain('disposed');
  });

  it('has been in its state since it came to it, whatever else changes', () => {
    const before = begun(1);
    const after = moved(before, { attempts: 3 }, 2);
    expect(after).toEqual({ ...before, attempts: 3 });
    expect(moved(after, { attempts: 3, state: 'connecting' }, 3)).toBe(after);
  });
});
