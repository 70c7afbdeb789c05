import { describe, expect, it } from 'vitest';
import { initialConnection, TRANSITIONS, transition } from '../src/state';
import type { ConnectionState } from '../src/types';

const STATES = Object.keys(TRANSITIONS) as ConnectionState[];

describe('the connection', () => {
  it('makes the transitions of the table only, and names both states of an illegal one', () => {
    for (const from of STATES) {
      for (const to of STATES.filter((state) => state !== from)) {
        const before = { ...initialConnection(1), state: from };
        if (TRANSITIONS[from].includes(to))
          expect(transition(before, { state: to }, 2)).toMatchObject({ state: to, since: 2 });
        else expect(() => transition(before, { state: to }, 2)).toThrow(`from ${from} to ${to}`);
      }
    }
  });

  it('ends with disposed, which can be reached from every state', () => {
    expect(TRANSITIONS.disposed).toEqual([]);
    for (const from of STATES) if (from !== 'disposed') expect(TRANSITIONS[from]).toContain('disposed');
  });

  it('keeps the time of its last transition when other fields change', () => {
    const before = initialConnection(1);
    const after = transition(before, { attempts: 3 }, 2);
    expect(after).toEqual({ ...before, attempts: 3 });
    expect(transition(after, { attempts: 3, state: 'connecting' }, 3)).toBe(after);
  });
});
