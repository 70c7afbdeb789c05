import { expect, it } from 'vitest';
import { entityTable } from '../src/entity-table';

it.each([
  [['user'], 'users_ui'],
  [['Users', 'user '], 'users_ui'],
  [['ACCOUNT'], 'accounts_ui'],
  [['accounts'], 'accounts_ui'],
  [['user', 'account'], 'final_ui'],
  [['transaction'], 'final_ui'],
  [[], 'final_ui'],
])('%j are shown by %s', (entities, table) => {
  expect(entityTable(entities)).toBe(table);
});
