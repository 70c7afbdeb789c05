import { type Connection, RequestRefused } from '@evertable/client';
import { counted, moment, rate, refusalOf, refusalText, span } from './format';
import { connectionText } from './shell/page-header';
import { defaultTable } from './tables/table-list';

describe('formats', () => {
  it('show durations in a suitable unit', () => {
    expect([0.35, 4.21, 42.4, 720, 12_600].map(span)).toEqual(['350 ms', '4.2 s', '42 s', '12 min', '3.5 h']);
  });

  it('show rates and counts', () => {
    expect([0, 0.44, 12.3, 1_204].map(rate)).toEqual(['0', '0.4', '12', '1,204']);
    expect([counted(1, 'dead letter'), counted(2_000, 'dead letter')]).toEqual([
      '1 dead letter',
      '2,000 dead letters',
    ]);
  });

  it('show the day unless it is today', () => {
    const now = new Date(2026, 10, 15, 20, 0, 0);
    expect(moment(new Date(2026, 10, 15, 9, 5, 7).toISOString(), now)).toBe('09:05:07');
    expect(moment(new Date(2026, 10, 14, 9, 5, 7).toISOString(), now)).toBe('14 Nov 09:05:07');
    expect([moment(null), moment('soon')]).toEqual(['', 'soon']);
  });

  it('show the state of the connection', () => {
    const at = (state: Connection['state'], retryAt: number | null = null): Connection => ({
      state,
      since: 1_000,
      attempts: 0,
      retryAt,
      reason: null,
    });
    expect(connectionText(at('live'), 9_000)).toEqual({ text: 'live', detail: '', tone: 'good' });
    const whole = (connection: Connection) => {
      const { text, detail } = connectionText(connection, 9_000);
      return text + detail;
    };
    expect(whole(at('stale'))).toBe('no response for 8 s');
    expect(whole(at('reconnecting', 9_300))).toBe('reconnecting …');
    expect(whole(at('reconnecting', 13_000))).toBe('reconnecting, next try in 4 s …');
  });

  it('show refusals and invalid answers', () => {
    const refusal = { condition: 'BODY_INVALID', message: 'The body is no object.' };
    expect(refusalText(refusalOf(new RequestRefused(refusal)))).toBe('The body is no object. (BODY_INVALID)');
    expect(refusalOf(new SyntaxError('no JSON')).condition).toBe('SERVER_ANSWER');
    expect(refusalText({ condition: 'CONTROL_READ_ONLY', message: '' })).toContain(
      'may not write to the control topic',
    );
  });
});

describe('the table that is shown first', () => {
  it('is the joined one, which follows those of the sources', () => {
    expect(defaultTable(['user', 'account', 'user_account', 'dead_letters', 'orchestrator_status'])).toBe(
      'user_account',
    );
    expect(defaultTable(['orchestrator_logs'])).toBe('orchestrator_logs');
    expect(defaultTable([])).toBeNull();
  });
});
