import type { Change, Page, Value } from '@evertable/client';
import {
  CellStyleModule,
  ColumnApiModule,
  ColumnAutoSizeModule,
  createGrid,
  type GridApi,
  InfiniteRowModelModule,
  type IRowNode,
  RenderApiModule,
  RowApiModule,
  ScrollApiModule,
} from 'ag-grid-community';
import { columnDefs, sameColumns } from './columns';
import { theme } from './theme';

const MODULES = [
  CellStyleModule,
  ColumnApiModule,
  ColumnAutoSizeModule,
  InfiniteRowModelModule,
  RenderApiModule,
  RowApiModule,
  ScrollApiModule,
];
const ROW_BUFFER = 10;
const ROW_HEIGHT = 28;
const BLOCK = 200;

/** What the grid tells. */
export interface GridEvents {
  /** Other rows are on screen now. */
  scrolled(): void;
}

/**
 * The rows of one page in AG Grid.
 *
 * The grid's nodes hold no rows: each cell looks its value up in the page of now, by its place. So all that is on screen
 * is of one page, and thus of one generation, whatever the grid keeps of blocks that were scrolled by.
 */
export class Grid {
  private readonly api: GridApi;
  private page: Page | null = null;
  private places = new Map<string, number>();

  constructor(host: HTMLElement, events: GridEvents, nonce: string | null) {
    const scrolled = () => events.scrolled();
    this.api = createGrid(
      host,
      {
        theme,
        styleNonce: nonce ?? undefined,
        rowModelType: 'infinite',
        // Blocks are filled at once with placeholders; windows of rows are none of the grid's business.
        datasource: {
          getRows: ({ startRow, endRow, successCallback }) =>
            successCallback(Array.from({ length: endRow - startRow }, () => PLACEHOLDER)),
        },
        cacheBlockSize: BLOCK,
        maxBlocksInCache: 4,
        infiniteInitialRowCount: 0,
        rowBuffer: ROW_BUFFER,
        rowHeight: ROW_HEIGHT,
        defaultColDef: { sortable: false, resizable: true },
        maintainColumnOrder: true,
        suppressDragLeaveHidesColumns: true,
        suppressNoRowsOverlay: true,
        suppressAnimationFrame: true,
        animateRows: false,
        onBodyScroll: scrolled,
        onViewportChanged: scrolled,
        onGridSizeChanged: scrolled,
      },
      { modules: MODULES },
    );
  }

  /** Shows a page; `change` says what is other than before. */
  show(page: Page, change: Change): void {
    const before = this.page;
    this.page = page;
    if (!before || !sameColumns(before.columns, page.columns)) this.setColumns(page);
    if (before?.total !== page.total) this.api.setRowCount(page.total, true);
    const swapped = before !== null && before.generation !== page.generation;
    if (change.kind !== 'total' || swapped) this.refresh(before, swapped);
  }

  /** Rows on screen, from the first to the last; null while there are none. */
  get seen(): { first: number; last: number } | null {
    const total = this.page?.total ?? 0;
    if (total === 0) return null;
    const { top, bottom } = this.api.getVerticalPixelRange();
    const rows = Math.max(1, Math.floor((bottom - top) / ROW_HEIGHT));
    const rendered = this.api.getFirstDisplayedRowIndex();
    // Beyond the height that browsers can scroll, the grid's pixels are not the table's, but its rows still are.
    const first = rendered > 0 ? rendered + ROW_BUFFER : Math.ceil(top / ROW_HEIGHT);
    return { first: Math.min(first, total - 1), last: Math.min(first + rows, total) - 1 };
  }

  scrollTo(row: number): void {
    if (this.page && row < this.page.total) this.api.ensureIndexVisible(Math.max(0, row), 'top');
  }

  destroy(): void {
    this.api.destroy();
  }

  private setColumns(page: Page): void {
    this.places = new Map(page.columns.map((column, at) => [column.name, at]));
    this.api.setGridOption(
      'columnDefs',
      columnDefs(page.columns, (row, column) => this.lookup(row, column)),
    );
  }

  private lookup(row: number, column: string): Value | undefined {
    const place = this.places.get(column);
    if (!this.page || place === undefined) return undefined;
    return this.page.rows[row - this.page.offset]?.[place];
  }

  /** Draws the rows on screen that are other ones than before. */
  private refresh(before: Page | null, all: boolean): void {
    const page = this.page as Page;
    const changed = (node: IRowNode) => {
      const row = node.rowIndex ?? -1;
      return page.rows[row - page.offset] !== before?.rows[row - (before?.offset ?? 0)];
    };
    const rowNodes = this.api.getRenderedNodes().filter((node) => all || changed(node));
    if (rowNodes.length) this.api.refreshCells({ rowNodes, force: all, suppressFlash: true });
  }
}

const PLACEHOLDER = {};
