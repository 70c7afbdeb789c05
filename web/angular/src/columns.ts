import type { Column, Page, Value } from '@evertable/client';
import type { ColDef, GridApi } from 'ag-grid-community';
import { cellText, kindOf, withMarks } from './cells.js';
import { HeaderCell, type Headers } from './header.js';

/** Returns the current value of a cell; `undefined` if its row is not loaded. */
export type Lookup = (row: number, column: string) => Value | undefined;

/** In pixels: a character, the space around a cell's and a header's text, and the limits of a column. */
const WIDTH = { character: 8, cell: 24, header: 56, min: 80, max: 340 } as const;
const SCROLLBAR_WIDTH = 18;

/** Returns the grid's columns for those of a page. Widths are initial only, so that users' changes stay. */
export function columnDefs(
  columns: readonly Column[],
  headers: Headers,
  lookup: Lookup,
  widths: ReadonlyMap<string, number>,
): ColDef[] {
  return columns.map(({ name, type }) => {
    const kind = kindOf(type);
    return {
      colId: name,
      headerName: withMarks(name),
      headerComponent: HeaderCell,
      headerComponentParams: { headers },
      headerClass: kind === 'number' ? ['live-header-cell', 'live-number'] : 'live-header-cell',
      cellClass: kind === 'number' || kind === 'json' ? ['live-cell', `live-${kind}`] : 'live-cell',
      cellClassRules: {
        'live-null': (params) => params.value === null,
        'live-blank': (params) => params.value === undefined,
      },
      initialWidth: widths.get(name) ?? WIDTH.min,
      valueGetter: (params) => lookup(params.node?.rowIndex ?? -1, name),
      valueFormatter: (params) => cellText(params.value, type),
    };
  });
}

/** Returns widths that fit the names of the columns and the values of the first rows, within limits. */
export function widthsFor({ columns, rows }: Pick<Page, 'columns' | 'rows'>): Map<string, number> {
  const longest = (at: number, type: string) =>
    rows.reduce((most, row) => Math.max(most, cellText(row[at], type).length), 0);
  return new Map(
    columns.map(({ name, type }, at) => {
      const width = Math.max(
        WIDTH.header + name.length * WIDTH.character,
        WIDTH.cell + longest(at, type) * WIDTH.character,
      );
      return [name, Math.min(WIDTH.max, Math.max(WIDTH.min, width))];
    }),
  );
}

export function sameColumns(one: readonly Column[], other: readonly Column[]): boolean {
  return (
    one.length === other.length &&
    one.every((column, at) => column.name === other[at]?.name && column.type === other[at]?.type)
  );
}

/** Returns the columns in the order `before`, which users may have changed; new ones follow their left neighbour. */
export function inOrder(columns: readonly Column[], before: readonly string[]): Column[] {
  const known = new Map(columns.map((column) => [column.name, column]));
  const order = before.flatMap((name) => known.get(name) ?? []);
  for (const [at, column] of columns.entries()) {
    if (before.includes(column.name)) continue;
    const neighbour = columns[at - 1];
    order.splice(neighbour ? order.indexOf(neighbour) + 1 : 0, 0, column);
  }
  return order;
}

/** Widens the columns if they leave space on the right. */
export function fillWidth(api: GridApi, width: number): void {
  const columns = api.getAllDisplayedColumns();
  const taken = columns.reduce((sum, column) => sum + column.getActualWidth(), 0);
  const room = width - SCROLLBAR_WIDTH;
  if (taken === 0 || taken >= room) return;
  api.setColumnWidths(
    columns.map((key) => ({ key, newWidth: Math.floor((key.getActualWidth() * room) / taken) })),
  );
}
