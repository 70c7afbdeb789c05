import { filterFor, outcomeOf, SENT, toneOf } from './swap-requests';

const status = { usersTopic: 'users_v2', accountsTopic: 'accounts_v1', joinType: 'inner', generation: 4 };
const row = (result: string, reason = '') => ({ partition: 0, offset: 17, result, reason });

describe('the outcome of a control message', () => {
  it('is sent until its row arrives', () => {
    expect(outcomeOf(null, status, 0)).toBe(SENT);
    expect(SENT.isSettled).toBe(false);
  });

  it('is not settled while it is pending', () => {
    const outcome = outcomeOf(row('pending'), status, 1);
    expect(outcome).toMatchObject({ tone: 'wait', isSettled: false });
    expect(outcome.text).toContain('is being built');
  });

  it('shows what is live and how long it took once it is applied', () => {
    expect(outcomeOf(row('applied'), status, 2.345)).toEqual({
      tone: 'good',
      isSettled: true,
      text: 'Done in 2.3 s. Live now: users_v2, inner join with accounts_v1.',
    });
  });

  it('shows why it was rejected', () => {
    const outcome = outcomeOf(row('rejected', "TOPIC_NOT_FOUND: There is no topic 'x'."), status, 1);
    expect(outcome).toMatchObject({ tone: 'bad', isSettled: true });
    expect(outcome.text).toBe(
      "Rejected; the tables stay as they are: TOPIC_NOT_FOUND: There is no topic 'x'.",
    );
  });

  it('points to the review of a held swap, and shows the warnings about one that went live', () => {
    const held = outcomeOf(row('held', 'All 30 records were rejected.'), status, 1);
    expect(held).toMatchObject({ tone: 'bad', isSettled: true });
    expect(held.text).toContain('Held: the result looks wrong');
    expect(outcomeOf(row('applied', 'No row matches.'), status, 1).text).toContain(
      'accounts_v1. No row matches.',
    );
  });

  it('is settled by every other result, including an unknown one', () => {
    for (const result of ['unchanged', 'superseded', 'failed', 'postponed']) {
      const outcome = outcomeOf(row(result, 'because'), status, 1);
      expect(outcome.isSettled).toBe(true);
      expect(outcome.text).not.toBe('');
    }
    expect(toneOf('failed')).toBe('bad');
    expect(toneOf('postponed')).toBe('calm');
  });

  it('is found by partition and offset', () => {
    expect(filterFor({ partition: -1, offset: 3 })).toBe('partition = -1 and offset = 3');
  });
});
