import type { Change, Page, Value } from '@evertable/client';
import {
  CellStyleModule,
  ColumnApiModule,
  createGrid,
  createTheme,
  type GridApi,
  InfiniteRowModelModule,
  type IRowNode,
  RenderApiModule,
  RowApiModule,
  ScrollApiModule,
} from 'ag-grid-community';
import { addCellClass, cellAt, loadBlockOf, setLabel, viewportOf } from './ag-grid.js';
import { cellTitle } from './cells.js';
import { columnDefs, fillWidth, inOrder, sameColumns, widthsFor } from './columns.js';
import type { Headers } from './header.js';
import type { RowRange } from './row-window.js';

const MODULES = [
  CellStyleModule,
  ColumnApiModule,
  InfiniteRowModelModule,
  RenderApiModule,
  RowApiModule,
  ScrollApiModule,
];
const ROW_BUFFER = 6;
const ROW_HEIGHT = 28;
const BLOCK = 100;
const END_TOLERANCE = 8; // pixels by which the grid misses its own end in very long tables
const PLACEHOLDER = {};
const NO_COLUMNS = { columns: [], rows: [] };
const FLASH = 'live-flash';

/** The colours of `live-table.css`, so that an application sets them in one place. */
const THEME = createTheme().withParams({
  accentColor: 'var(--live-table-accent)',
  backgroundColor: 'var(--live-table-background)',
  foregroundColor: 'var(--live-table-text)',
  borderColor: 'var(--live-table-line)',
  headerBackgroundColor: 'var(--live-table-raised)',
  headerTextColor: 'var(--live-table-text)',
  oddRowBackgroundColor: 'var(--live-table-stripe)',
  rowHoverColor: 'var(--live-table-hover)',
  browserColorScheme: 'inherit',
  fontFamily: 'inherit',
  fontSize: 13,
  headerFontWeight: 600,
  rowHeight: 28,
  headerHeight: 34,
  cellHorizontalPadding: 10,
  wrapperBorder: false,
  wrapperBorderRadius: 0,
  columnBorder: false,
});

/** Callbacks of the grid. */
export interface GridEvents {
  /** Other rows may be on screen. */
  scrolled(): void;
  /** Columns were added, removed, moved or hidden. */
  columnsChanged(): void;
}

/** A column of the grid. */
export interface GridColumn {
  readonly name: string;
  readonly visible: boolean;
}

/**
 * Shows the rows of one page in AG Grid.
 *
 * The grid's nodes hold no rows: each cell reads its value from the current page. So everything on screen belongs to one
 * page, and thus to one generation, whatever blocks the grid keeps.
 */
export class Grid {
  private readonly api: GridApi;
  private page: Page | null = null;
  private columnIndexes = new Map<string, number>();
  private visible: RowRange | null = null;

  constructor(
    private readonly host: HTMLElement,
    private readonly headers: Headers,
    events: GridEvents,
    nonce: string | null,
  ) {
    const scrolled = () => {
      this.measure();
      this.loadNeighbours();
      events.scrolled();
    };
    const columnsChanged = () => events.columnsChanged();
    this.api = createGrid(
      host,
      {
        theme: THEME,
        styleNonce: nonce ?? undefined,
        rowModelType: 'infinite',
        // blocks are filled at once with placeholders; the rows come from the page
        datasource: {
          getRows: ({ startRow, endRow, successCallback }) =>
            successCallback(Array.from({ length: endRow - startRow }, () => PLACEHOLDER)),
        },
        cacheBlockSize: BLOCK,
        maxBlocksInCache: 8,
        infiniteInitialRowCount: 0,
        rowBuffer: ROW_BUFFER,
        rowHeight: ROW_HEIGHT,
        defaultColDef: { sortable: false, resizable: true },
        suppressDragLeaveHidesColumns: true,
        suppressNoRowsOverlay: true,
        suppressAnimationFrame: true,
        animateRows: false,
        onBodyScroll: scrolled,
        onViewportChanged: scrolled,
        onGridSizeChanged: scrolled,
        onColumnVisible: columnsChanged,
        onColumnMoved: columnsChanged,
        onNewColumnsLoaded: columnsChanged,
      },
      { modules: MODULES },
    );
    host.addEventListener('animationend', ({ target }) => {
      if (target instanceof Element) target.classList.remove(FLASH);
    });
    host.addEventListener('mouseover', ({ target }) => this.setTooltip(target));
  }

  label(text: string): void {
    setLabel(this.host, text);
  }

  /** Shows a page that differs by `change` from the one before; `resetOrder` gives the columns the page's order. */
  show(page: Page, change: Change, resetOrder: boolean): void {
    const before = this.page;
    this.page = page;
    if (!before || !sameColumns(before.columns, page.columns)) this.setColumns(page, resetOrder);
    if (before?.total !== page.total) {
      this.api.setRowCount(page.total, true);
      this.measure();
    }
    const isSwapped = before !== null && before.generation !== page.generation;
    if (before && page.rows !== before.rows) this.refresh(before, page, isSwapped);
    if (change.kind === 'patch' && change.cells.length) flash(this.host, page, change.cells);
  }

  /** Removes all rows and columns, before another table is shown. */
  clear(): void {
    if (!this.page) return;
    this.page = null;
    this.visible = null;
    this.api.setRowCount(0, true);
    this.setColumns(NO_COLUMNS, true);
  }

  /** The rows that are fully on screen; null if there are none. */
  get visibleRows(): RowRange | null {
    return this.visible;
  }

  scrollTo(row: number): void {
    const total = this.page?.total ?? 0;
    if (total === 0) return;
    this.api.ensureIndexVisible(Math.max(0, Math.min(row, total - 1)), 'top');
    this.measure();
  }

  /** The columns from left to right, including hidden ones. */
  get columns(): GridColumn[] {
    return this.api
      .getAllGridColumns()
      .map((column) => ({ name: column.getColId(), visible: column.isVisible() }));
  }

  setVisible(columns: readonly string[], visible: boolean): void {
    this.api.setColumnsVisible([...columns], visible);
  }

  /** The value of the focused cell, and those of its row's visible columns from left to right. */
  get focused(): { value: Value; row: Value[] } | null {
    const cell = this.api.getFocusedCell();
    const value = cell ? this.lookup(cell.rowIndex, cell.column.getColId()) : undefined;
    if (!cell || value === undefined) return null;
    const shown = this.columns.filter((column) => column.visible);
    return { value, row: shown.map(({ name }) => this.lookup(cell.rowIndex, name) ?? null) };
  }

  destroy(): void {
    this.api.destroy();
  }

  /** Finds the rows on screen. Not after each change of a cell, because it makes the browser lay out the page. */
  private measure(): void {
    const total = this.page?.total ?? 0;
    const { top, bottom } = this.api.getVerticalPixelRange();
    const rows = Math.max(1, Math.floor((bottom - top) / ROW_HEIGHT));
    const rendered = this.api.getFirstDisplayedRowIndex();
    const { scrollTop = 0, clientHeight = 0, scrollHeight = 0 } = viewportOf(this.host) ?? {};
    // beyond the height that browsers can scroll, the grid scales its pixels, but its row indexes stay true
    const isScaled = scrollHeight < total * ROW_HEIGHT && rendered > 0;
    const first = isScaled ? rendered + ROW_BUFFER : Math.ceil(top / ROW_HEIGHT);
    const isAtEnd = scrollHeight > clientHeight && scrollTop + clientHeight > scrollHeight - END_TOLERANCE;
    const begin = Math.max(0, isAtEnd ? total - rows : Math.min(first, total - 1));
    this.visible = total === 0 ? null : { first: begin, last: Math.min(begin + rows, total) - 1 };
  }

  /** Loads the blocks next to the screen: the grid would draw their rows twice otherwise. */
  private loadNeighbours(): void {
    const total = this.page?.total ?? 0;
    const ahead = this.api.getLastDisplayedRowIndex() + BLOCK;
    const behind = this.api.getFirstDisplayedRowIndex() - BLOCK;
    for (const row of [ahead, behind]) if (row >= 0 && row < total) loadBlockOf(this.api, row);
  }

  private setColumns(page: Pick<Page, 'columns' | 'rows'>, resetOrder: boolean): void {
    const { columns } = page;
    const first = this.columnIndexes.size === 0;
    const before = resetOrder ? [] : this.columns.map((column) => column.name);
    this.columnIndexes = new Map(columns.map((column, at) => [column.name, at]));
    const lookup = (row: number, name: string) => this.lookup(row, name);
    const defs = columnDefs(inOrder(columns, before), this.headers, lookup, widthsFor(page));
    this.api.setGridOption('columnDefs', defs);
    for (const header of this.headers.onScreen) header.update(); // the grid resets the sort marks
    if (first && columns.length) fillWidth(this.api, this.host.clientWidth);
  }

  private lookup(row: number, column: string): Value | undefined {
    const index = this.columnIndexes.get(column);
    if (!this.page || index === undefined) return undefined;
    return this.page.rows[row - this.page.offset]?.[index];
  }

  /** Redraws the rows on screen that have changed, or all of them. */
  private refresh(before: Page, page: Page, all: boolean): void {
    const changed = ({ rowIndex }: IRowNode) =>
      page.rows[(rowIndex ?? 0) - page.offset] !== before.rows[(rowIndex ?? 0) - before.offset];
    const rowNodes = this.api.getRenderedNodes().filter((node) => all || changed(node));
    if (rowNodes.length) this.api.refreshCells({ rowNodes, force: all, suppressFlash: true });
  }

  /** Sets the tooltip of the cell under the pointer. */
  private setTooltip(target: EventTarget | null): void {
    const cell = cellAt(target);
    if (!cell) return;
    const type = this.page?.columns[this.columnIndexes.get(cell.column) ?? -1]?.type;
    if (type) cell.element.title = cellTitle(this.lookup(cell.row, cell.column), type);
  }
}

/** Makes changed cells flash. A cell that flashes already continues, so that frequent changes do not flicker. */
function flash(host: HTMLElement, page: Page, cells: readonly (readonly [number, number])[]): void {
  const columns = new Map<number, Set<string>>();
  for (const [row, column] of cells) {
    const names = columns.get(page.offset + row) ?? new Set();
    const name = page.columns[column]?.name;
    if (name !== undefined) columns.set(page.offset + row, names.add(name));
  }
  addCellClass(host, columns, FLASH);
}
