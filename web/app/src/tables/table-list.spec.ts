import { defaultTable } from './table-list';

describe('the table that is shown first', () => {
  it('is the joined one, which follows those of the sources', () => {
    expect(defaultTable(['user', 'account', 'user_account', 'dead_letters', 'orchestrator_status'])).toBe(
      'user_account',
    );
    expect(defaultTable(['orchestrator_logs'])).toBe('orchestrator_logs');
    expect(defaultTable([])).toBeNull();
  });
});
