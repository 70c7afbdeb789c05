import type { GridApi } from 'ag-grid-community';

/*
 * Everything that AG Grid does not document: its DOM, and a side effect of one call. No other module may depend on it.
 * test/ag-grid.spec.ts names each symbol, so that it fails first on an upgrade.
 */

export const ROW = '.ag-row';
export const CELL = '.ag-cell';
export const HEADER_CELL = '.ag-header-cell';
export const VIEWPORT = '.ag-grid-viewport';
export const GRID = '[role=grid], [role=treegrid]';
export const ROW_INDEX = 'row-index';
export const COLUMN_ID = 'col-id';

export function cellSelector(row: number, column: string): string {
  return `${ROW}[${ROW_INDEX}="${row}"] ${CELL}[${COLUMN_ID}="${quoted(escaped(column))}"]`;
}

export function headerSelector(column: string): string {
  return `${HEADER_CELL}[${COLUMN_ID}="${quoted(escaped(column))}"]`;
}

/** Returns the cell that an event happened in; null outside of cells. */
export function cellAt(
  target: EventTarget | null,
): { readonly element: HTMLElement; readonly row: number; readonly column: string } | null {
  const element = target instanceof Element ? target.closest<HTMLElement>(CELL) : null;
  if (!element) return null;
  const row = Number(element.closest(ROW)?.getAttribute(ROW_INDEX));
  return { element, row, column: columnOf(element) };
}

/** Adds a class to cells on screen, given as names of columns by row index. */
export function addCellClass(
  host: HTMLElement,
  cells: ReadonlyMap<number, ReadonlySet<string>>,
  name: string,
): void {
  for (const row of host.querySelectorAll(ROW)) {
    const columns = cells.get(Number(row.getAttribute(ROW_INDEX)));
    if (!columns) continue;
    for (const cell of row.querySelectorAll(CELL)) {
      if (columns.has(columnOf(cell))) cell.classList.add(name);
    }
  }
}

/** Returns the element that scrolls; null before the grid is drawn. */
export function viewportOf(host: HTMLElement): Element | null {
  return host.querySelector(VIEWPORT);
}

export function setLabel(host: HTMLElement, text: string): void {
  host.querySelector(GRID)?.setAttribute('aria-label', text);
}

/** Makes the grid fill the block of a row: reading a row requests its block. */
export function loadBlockOf(api: GridApi, row: number): void {
  api.getDisplayedRowAtIndex(row);
}

// AG Grid writes column names HTML-escaped into the attribute.
const ENTITIES: readonly (readonly [string, string])[] = [
  ['&', '&amp;'],
  ['<', '&lt;'],
  ['>', '&gt;'],
  ['"', '&quot;'],
  ["'", '&#39;'],
];

function escaped(name: string): string {
  return ENTITIES.reduce((text, [character, entity]) => text.replaceAll(character, entity), name);
}

function columnOf(element: Element): string {
  const name = element.getAttribute(COLUMN_ID) ?? '';
  return ENTITIES.reduceRight((text, [character, entity]) => text.replaceAll(entity, character), name);
}

function quoted(name: string): string {
  return name.replaceAll('\\', '\\\\').replaceAll('"', '\\"');
}
