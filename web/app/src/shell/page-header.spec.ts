import type { Connection } from '@evertable/client';
import { connectionText } from './page-header';

describe('the page header', () => {
  it('shows the state of the connection', () => {
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
});
