import { RequestRefused } from '@evertable/client';
import { counted, moment, rate, refusalOf, refusalText, span } from './format';

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

  it('show refusals and invalid answers', () => {
    const refusal = { condition: 'BODY_INVALID', message: 'The body is no object.' };
    expect(refusalText(refusalOf(new RequestRefused(refusal)))).toBe('The body is no object. (BODY_INVALID)');
    expect(refusalOf(new SyntaxError('no JSON')).condition).toBe('SERVER_ANSWER');
    expect(refusalText({ condition: 'CONTROL_READ_ONLY', message: '' })).toContain(
      'may not write to the control topic',
    );
  });
});
