import { type Connection, RequestRefused } from '@evertable/client';
import { wordsFor } from './shell/connection-words';
import { inWords, refusalOf } from './shell/refusals';
import { firstChoice } from './tables/operators';
import { counted, moment, rate, span } from './words';

describe('words', () => {
  it('say spans in the unit that people would say them in', () => {
    expect([0.35, 4.21, 42.4, 720, 12_600].map(span)).toEqual(['350 ms', '4.2 s', '42 s', '12 min', '3.5 h']);
  });

  it('say rates and counts', () => {
    expect([0, 0.44, 12.3, 1_204].map(rate)).toEqual(['0', '0.4', '12', '1,204']);
    expect([counted(1, 'dead letter'), counted(2_000, 'dead letter')]).toEqual([
      '1 dead letter',
      '2,000 dead letters',
    ]);
  });

  it('say the day only where it is another', () => {
    const now = new Date(2026, 10, 15, 20, 0, 0);
    expect(moment(new Date(2026, 10, 15, 9, 5, 7).toISOString(), now)).toBe('09:05:07');
    expect(moment(new Date(2026, 10, 14, 9, 5, 7).toISOString(), now)).toBe('14 Nov 09:05:07');
    expect([moment(null), moment('soon')]).toEqual(['', 'soon']);
  });

  it('say how the connection is', () => {
    const at = (state: Connection['state'], retryAt: number | null = null): Connection => ({
      state,
      since: 1_000,
      attempts: 0,
      retryAt,
      reason: null,
    });
    expect(wordsFor(at('live'), 9_000)).toEqual({ words: 'live', ticking: '', tone: 'good' });
    const said = (connection: Connection) => {
      const { words, ticking } = wordsFor(connection, 9_000);
      return words + ticking;
    };
    expect(said(at('stale'))).toBe('no sign of life for 8 s');
    expect(said(at('reconnecting', 9_300))).toBe('reconnecting …');
    expect(said(at('reconnecting', 13_000))).toBe('reconnecting, next try in 4 s …');
  });

  it('say what was refused, and that nothing answers', () => {
    const refusal = { condition: 'BODY_INVALID', message: 'The body is no object.' };
    expect(inWords(refusalOf(new RequestRefused(refusal)))).toBe('The body is no object. (BODY_INVALID)');
    expect(refusalOf(new SyntaxError('no JSON')).condition).toBe('SERVER_ANSWER');
    expect(inWords({ condition: 'CONTROL_READ_ONLY', message: '' })).toContain(
      'may not write to the control topic',
    );
  });
});

describe('the table that is shown first', () => {
  it('is the joined one, which comes after those of the sources', () => {
    expect(firstChoice(['user', 'account', 'user_account', 'dead_letters', 'orchestrator_status'])).toBe(
      'user_account',
    );
    expect(firstChoice(['orchestrator_logs'])).toBe('orchestrator_logs');
    expect(firstChoice([])).toBeNull();
  });
});
