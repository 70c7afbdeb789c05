import type { Column, Value } from '@evertable/client';
import type { ColDef, GridApi } from 'ag-grid-community';
import { cellText, kindOf } from './cells.js';
import { Header, type Heads } from './header.js';

/** Looks up the value that is shown in a row of the table now; `undefined` if that row has not come yet. */
export type Lookup = (row: number, column: string) => Value | undefined;

const WIDTHS = { text: 170, number: 130, boolean: 90, date: 110, time: 220, json: 240 } as const;

/** The grid's columns for those of a page. Widths are for the first time only: later ones are what people made of them. */
export function columnDefs(columns: readonly Column[], heads: Heads, lookup: Lookup): ColDef[] {
  return columns.map(({ name, type }) => {
    const kind = kindOf(type);
    return {
      colId: name,
      headerName: name,
      headerComponent: Header,
      headerComponentParams: { heads },
      headerClass: kind === 'number' ? 'live-number' : '',
      cellClass: kind === 'number' || kind === 'json' ? `live-${kind}` : '',
      cellClassRules: {
        'live-null': (params) => params.value === null,
        'live-blank': (params) => params.value === undefined,
      },
      initialWidth: Math.max(type === 'long' ? 190 : WIDTHS[kind], Math.min(260, 64 + name.length * 8)),
      valueGetter: (params) => lookup(params.node?.rowIndex ?? -1, name),
      valueFormatter: (params) => cellText(params.value, type),
    };
  });
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
