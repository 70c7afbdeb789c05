import type { Change, Page, Value } from '@evertable/client';
import {
  CellStyleModule,
  ColumnApiModule,
  createGrid,
  type GridApi,
  InfiniteRowModelModule,
  type IRowNode,
  RenderApiModule,
  RowApiModule,
  ScrollApiModule,
} from 'ag-grid-community';
import { cellTitle } from './cells.js';
import { arranged, columnDefs, sameColumns, spread, widthsFor } from './columns.js';
import { flash, forgetFlashes } from './flash.js';
import type { Heads } from './header.js';
import { theme } from './theme.js';

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
const SLACK = 8; // Pixels by which the grid misses its own end in very long tables.
const PLACEHOLDER = {};
const NOTHING = { columns: [], rows: [] };

/** What the grid tells. */
export interface GridEvents {
  /** Other rows are on screen now. */
  scrolled(): void;
  /** Columns came, went, or were moved or hidden. */
  columnsChanged(): void;
}

/** A column as it stands in the grid, from left to right. */
export interface GridColumn {
  readonly name: string;
  readonly visible: boolean;
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
  private place: { first: number; last: number } | null = null;

  constructor(
    private readonly host: HTMLElement,
    private readonly heads: Heads,
    events: GridEvents,
    nonce: string | null,
  ) {
    const scrolled = () => {
      this.measure();
      this.prepare();
      events.scrolled();
    };
    const columnsChanged = () => events.columnsChanged();
    this.api = createGrid(
      host,
      {
        theme,
        styleNonce: nonce ?? undefined,
        rowModelType: 'infinite',
        // Blocks are filled at once with placeholders; which rows are there is none of the grid's business.
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
    forgetFlashes(host);
    host.addEventListener('mouseover', (event) => this.explain(event.target));
  }

  label(text: string): void {
    this.host.querySelector('[role=grid], [role=treegrid]')?.setAttribute('aria-label', text);
  }

  /** Shows a page; `change` says what is other than before. `anew`: its columns stand as they come. */
  show(page: Page, change: Change, anew: boolean): void {
    const before = this.page;
    this.page = page;
    if (!before || !sameColumns(before.columns, page.columns)) this.setColumns(page, anew);
    if (before?.total !== page.total) {
      this.api.setRowCount(page.total, true);
      this.measure();
    }
    const all = before !== null && before.generation !== page.generation;
    if (before && page.rows !== before.rows) this.refresh(before, page, all);
    if (change.kind === 'patch' && change.cells.length) flash(this.host, page, change.cells);
  }

  /** Forgets all rows and columns, for those of another table. */
  clear(): void {
    if (!this.page) return;
    this.page = null;
    this.place = null;
    this.api.setRowCount(0, true);
    this.setColumns(NOTHING, true);
  }

  /** Rows on screen, from the first to the last that is there wholly; null while there are none. */
  get seen(): { first: number; last: number } | null {
    return this.place;
  }

  scrollTo(row: number): void {
    const total = this.page?.total ?? 0;
    if (total === 0) return;
    this.api.ensureIndexVisible(Math.max(0, Math.min(row, total - 1)), 'top');
    this.measure();
  }

  /** The columns as they stand, hidden ones included. */
  get columns(): GridColumn[] {
    return this.api
      .getAllGridColumns()
      .map((column) => ({ name: column.getColId(), visible: column.isVisible() }));
  }

  setVisible(columns: readonly string[], visible: boolean): void {
    this.api.setColumnsVisible([...columns], visible);
  }

  /** The cell that has the focus, and the values of its row as they are shown, from left to right. */
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

  /** Asks for the place on screen. Not at each change of a cell: browsers would lay everything out for the answer. */
  private measure(): void {
    const total = this.page?.total ?? 0;
    const { top, bottom } = this.api.getVerticalPixelRange();
    const rows = Math.max(1, Math.floor((bottom - top) / ROW_HEIGHT));
    const rendered = this.api.getFirstDisplayedRowIndex();
    const {
      scrollTop = 0,
      clientHeight = 0,
      scrollHeight = 0,
    } = this.host.querySelector('.ag-grid-viewport') ?? {};
    // Beyond the height that browsers can scroll, the grid's pixels are not the table's, but its rows still are.
    const isScaled = scrollHeight < total * ROW_HEIGHT && rendered > 0;
    const first = isScaled ? rendered + ROW_BUFFER : Math.ceil(top / ROW_HEIGHT);
    const isAtEnd = scrollHeight > clientHeight && scrollTop + clientHeight > scrollHeight - SLACK;
    const begin = Math.max(0, isAtEnd ? total - rows : Math.min(first, total - 1));
    this.place = total === 0 ? null : { first: begin, last: Math.min(begin + rows, total) - 1 };
  }

  /** Makes the grid fill the blocks next to the screen: it draws rows twice that it comes to before. */
  private prepare(): void {
    const total = this.page?.total ?? 0;
    const ahead = this.api.getLastDisplayedRowIndex() + BLOCK;
    const behind = this.api.getFirstDisplayedRowIndex() - BLOCK;
    for (const row of [ahead, behind]) if (row >= 0 && row < total) this.api.getDisplayedRowAtIndex(row);
  }

  private setColumns(page: Pick<Page, 'columns' | 'rows'>, anew: boolean): void {
    const { columns } = page;
    const first = this.places.size === 0;
    const before = anew ? [] : this.columns.map((column) => column.name);
    this.places = new Map(columns.map((column, at) => [column.name, at]));
    const lookup = (row: number, name: string) => this.lookup(row, name);
    const defs = columnDefs(arranged(columns, before), this.heads, lookup, widthsFor(page));
    this.api.setGridOption('columnDefs', defs);
    for (const header of this.heads.shown) header.update(); // The grid forgets what it does not sort by itself.
    if (first && columns.length) spread(this.api, this.host.clientWidth);
  }

  private lookup(row: number, column: string): Value | undefined {
    const place = this.places.get(column);
    if (!this.page || place === undefined) return undefined;
    return this.page.rows[row - this.page.offset]?.[place];
  }

  /** Draws the rows on screen that are other ones than before. */
  private refresh(before: Page, page: Page, all: boolean): void {
    const changed = ({ rowIndex }: IRowNode) =>
      page.rows[(rowIndex ?? 0) - page.offset] !== before.rows[(rowIndex ?? 0) - before.offset];
    const rowNodes = this.api.getRenderedNodes().filter((node) => all || changed(node));
    if (rowNodes.length) this.api.refreshCells({ rowNodes, force: all, suppressFlash: true });
  }

  /** Says on hovering what a cell has no room for. */
  private explain(target: EventTarget | null): void {
    const cell = target instanceof Element ? target.closest<HTMLElement>('.ag-cell') : null;
    const name = cell?.getAttribute('col-id') ?? '';
    const type = this.page?.columns[this.places.get(name) ?? -1]?.type;
    if (!cell || !type) return;
    const row = Number(cell.closest('.ag-row')?.getAttribute('row-index'));
    cell.title = cellTitle(this.lookup(row, name), type);
  }
}
