import {
  createGrid,
  type GridApi,
  InfiniteRowModelModule,
  RowApiModule,
  ScrollApiModule,
} from 'ag-grid-community';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import {
  addCellClass,
  CELL,
  COLUMN_ID,
  cellAt,
  cellSelector,
  GRID,
  HEADER_CELL,
  headerSelector,
  loadBlockOf,
  ROW,
  ROW_INDEX,
  VIEWPORT,
} from '../src/ag-grid';

const BLOCK = 10;
const COLUMN = `"a" & <b> 'c' &amp;`; // a name with everything that is escaped

let host: HTMLElement;
let api: GridApi;
let requested: number[];

beforeAll(async () => {
  for (const name of ['clientWidth', 'offsetWidth', 'clientHeight', 'offsetHeight'] as const) {
    vi.spyOn(HTMLElement.prototype, name, 'get').mockReturnValue(400);
  }
  host = document.body.appendChild(document.createElement('div'));
  requested = [];
  api = createGrid(
    host,
    {
      columnDefs: [{ colId: COLUMN }, { colId: 'plain' }],
      rowModelType: 'infinite',
      cacheBlockSize: BLOCK,
      infiniteInitialRowCount: 1000,
      suppressAnimationFrame: true,
      datasource: {
        getRows: ({ startRow, successCallback }) => {
          requested.push(startRow);
          successCallback(Array.from({ length: BLOCK }, () => ({})));
        },
      },
    },
    { modules: [InfiniteRowModelModule, RowApiModule, ScrollApiModule] },
  );
  await new Promise((done) => setTimeout(done, 20));
});

afterAll(() => {
  api.destroy();
  host.remove();
  vi.restoreAllMocks();
});

describe('what Evertable relies on in AG Grid', () => {
  it.each([
    ['.ag-row', ROW],
    ['.ag-cell', CELL],
    ['.ag-header-cell', HEADER_CELL],
    ['.ag-grid-viewport', VIEWPORT],
    ['[role=grid], [role=treegrid]', GRID],
    ['[row-index]', `[${ROW_INDEX}]`],
    ['[col-id]', `[${COLUMN_ID}]`],
  ])('%s exists', (symbol, selector) => {
    expect(selector).toBe(symbol);
    expect(host.querySelector(selector)).not.toBeNull();
  });

  it('row-index and col-id identify a cell', () => {
    const element = host.querySelector(cellSelector(3, 'plain'));
    expect(cellAt(element)).toEqual({ element, row: 3, column: 'plain' });
    expect(cellAt(host)).toBeNull();
  });

  it('col-id is the HTML-escaped name of the column', () => {
    expect(host.querySelectorAll(headerSelector(COLUMN)).length).toBe(1);
    addCellClass(host, new Map([[3, new Set([COLUMN])]]), 'marked');
    expect([...host.querySelectorAll('.marked')].map(cellAt)).toMatchObject([{ row: 3, column: COLUMN }]);
  });

  it('getDisplayedRowAtIndex requests the block of the row', async () => {
    expect(requested).not.toContain(500);
    loadBlockOf(api, 503);
    await vi.waitFor(() => expect(requested).toContain(500));
  });
});
