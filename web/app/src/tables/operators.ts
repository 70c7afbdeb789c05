/** Tables for operators: their names are fixed, those of all others are the configuration's. */
export const STATUS = 'orchestrator_status';
export const LOGS = 'orchestrator_logs';
export const MESSAGES = 'control_raw';
export const GENERATIONS = 'generations';
export const DEAD_LETTERS = 'dead_letters';

const OPERATORS: readonly string[] = [STATUS, LOGS, MESSAGES, GENERATIONS, DEAD_LETTERS];

export function isForOperators(name: string): boolean {
  return OPERATORS.includes(name);
}

/** What is shown first: the joined table, which the server names after those of its sources. */
export function firstChoice(names: readonly string[]): string | null {
  return names.filter((name) => !isForOperators(name)).at(-1) ?? names[0] ?? null;
}

/** Elements are found by these; a table's name may hold blanks, which an id must not. */
export function tabId(name: string): string {
  return `tab-${encodeURIComponent(name)}`;
}

export function panelId(name: string): string {
  return `panel-${encodeURIComponent(name)}`;
}
