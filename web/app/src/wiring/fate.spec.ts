import { fateOf, filterFor, SENT, toneOf } from './fate';

const status = { usersTopic: 'users_v2', accountsTopic: 'accounts_v1', joinType: 'inner', generation: 4 };
const row = (result: string, reason = '') => ({ partition: 0, offset: 17, result, reason });

describe('the fate of a control message', () => {
  it('is to be sent, until its row is there', () => {
    expect(fateOf(null, status, 0)).toBe(SENT);
    expect(SENT.settled).toBe(false);
  });

  it('waits while it is pending', () => {
    const fate = fateOf(row('pending'), status, 1);
    expect(fate).toMatchObject({ tone: 'wait', settled: false });
    expect(fate.words).toContain('on its way');
  });

  it('tells what is live once it is applied, and how long that took', () => {
    expect(fateOf(row('applied'), status, 2.345)).toEqual({
      tone: 'good',
      settled: true,
      words: 'Done in 2.3 s. Live now: users_v2, inner join with accounts_v1.',
    });
  });

  it('tells why it was rejected', () => {
    const fate = fateOf(row('rejected', "TOPIC_NOT_FOUND: There is no topic 'x'."), status, 1);
    expect(fate).toMatchObject({ tone: 'bad', settled: true });
    expect(fate.words).toBe("Rejected, and nothing was touched: TOPIC_NOT_FOUND: There is no topic 'x'.");
  });

  it('points to the review of a held swap, and tells what looked odd about one that went live', () => {
    const held = fateOf(row('held', 'All 30 records were rejected.'), status, 1);
    expect(held).toMatchObject({ tone: 'bad', settled: true });
    expect(held.words).toContain('Held, and nothing was touched');
    expect(fateOf(row('applied', 'No row matches.'), status, 1).words).toContain(
      'accounts_v1. No row matches.',
    );
  });

  it('is settled by every other result, one that we do not know included', () => {
    for (const result of ['unchanged', 'superseded', 'failed', 'postponed']) {
      const fate = fateOf(row(result, 'because'), status, 1);
      expect(fate.settled).toBe(true);
      expect(fate.words).not.toBe('');
    }
    expect(toneOf('failed')).toBe('bad');
    expect(toneOf('postponed')).toBe('calm');
  });

  it('is found by partition and offset, also of messages that took no topic', () => {
    expect(filterFor({ partition: -1, offset: 3 })).toBe('partition = -1 and offset = 3');
  });
});
