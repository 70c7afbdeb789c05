/** The table that shows a set of entities: users alone, accounts alone, or both joined. */
export function entityTable(entities: readonly string[]): string {
  const kinds = new Set(entities.map((entity) => entity.trim().toLowerCase().replace(/s$/, '')));
  const only = kinds.size === 1 ? [...kinds][0] : undefined;
  if (only === 'user') return 'users_ui';
  if (only === 'account') return 'accounts_ui';
  return 'final_ui';
}
