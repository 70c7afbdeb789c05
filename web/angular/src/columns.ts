import type { Column, Page, Value } from '@evertable/client';
import type { ColDef, GridApi } from 'ag-grid-community';
import { cellText, kindOf, withMarks } from './cells.js';
import { Header, type Heads } from './header.js';

/** Looks up the value that is shown in a row of the table now; `undefined` if that row has not come yet. */
export type Lookup = (row: number, column: string) => Value | undefined;

/** In pixels: of a character, of what surrounds a cell's and a header's text, and of a column at least and at most. */
const WIDTH = { character: 8, cell: 24, header: 56, least: 80, most: 340 } as const;

/** The grid's columns for those of a page. Widths are for the first time only: later ones are what people made of them. */
export function columnDefs(
  columns: readonly Column[],
  heads: Heads,
  lookup: Lookup,
  widths: ReadonlyMap<string, number>,
): ColDef[] {
  return columns.map(({ name, type }) => {
    const kind = kindOf(type);
    return {
      colId: name,
      headerName: withMarks(name),
      headerComponent: Header,
      headerComponentParams: { heads },
      headerClass: kind === 'number' ? 'live-number' : '',
      cellClass: kind === 'number' || kind === 'json' ? `live-${kind}` : '',
      cellClassRules: {
        'live-null': (params) => params.value === null,
        'live-blank': (params) => params.value === undefined,
      },
      initialWidth: widths.get(name) ?? WIDTH.least,
      valueGetter: (params) => lookup(params.node?.rowIndex ?? -1, name),
      valueFormatter: (params) => cellText(params.value, type),
    };
  });
}

/** Wide enough for the names of columns and for what the first rows hold, within limits. */
export function widthsFor({ columns, rows }: Pick<Page, 'columns' | 'rows'>): Map<string, number> {
  const longest = (at: number, type: string) =>
    rows.reduce((most, row) => Math.max(most, cellText(row[at], type).length), 0);
  return new Map(
    columns.map(({ name, type }, at) => {
      const wanted = Math.max(
        WIDTH.header + name.length * WIDTH.character,
        WIDTH.cell + longest(at, type) * WIDTH.character,
      );
      return [name, Math.min(WIDTH.most, Math.max(WIDTH.least, wanted))];
    }),
  );
}

export function sameColumns(one: readonly Column[], other: readonly Column[]): boolean {
  return (
    one.length === other.length &&
    one.every((column, at) => column.name === other[at]?.name && column.type === other[at]?.type)
  );
}

/** Columns in the order that people gave them, `before`; new ones next to the neighbour that they come with. */
export function arranged(columns: readonly Column[], before: readonly string[]): Column[] {
  const known = new Map(columns.map((column) => [column.name, column]));
  const order = before.flatMap((name) => known.get(name) ?? []);
  for (const [at, column] of columns.entries()) {
    if (before.includes(column.name)) continue;
    const neighbour = columns[at - 1];
    order.splice(neighbour ? order.indexOf(neighbour) + 1 : 0, 0, column);
  }
  return order;
}

/** Gives columns that leave room on the right more of it. */
export function spread(api: GridApi, width: number): void {
  const columns = api.getAllDisplayedColumns();
  const taken = columns.reduce((sum, column) => sum + column.getActualWidth(), 0);
  const room = width - SCROLLBAR;
  if (taken === 0 || taken >= room) return;
  api.setColumnWidths(
    columns.map((key) => ({ key, newWidth: Math.floor((key.getActualWidth() * room) / taken) })),
  );
}

const SCROLLBAR = 18;
