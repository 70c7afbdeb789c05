import { DOCUMENT } from '@angular/common';
import {
  afterNextRender,
  ChangeDetectionStrategy,
  Component,
  CSP_NONCE,
  computed,
  DestroyRef,
  ElementRef,
  effect,
  inject,
  input,
  numberAttribute,
  signal,
  untracked,
  ViewEncapsulation,
  viewChild,
} from '@angular/core';
import type { Column } from '@evertable/client';
import { ColumnChooser } from './column-chooser.js';
import { ColumnFilterPanel } from './column-filter.js';
import { Evertable } from './evertable.js';
import { asTsv, copyText, csvPath, saveAs } from './export.js';
import { Feed } from './feed.js';
import { FilterBox } from './filter-box.js';
import type { ColumnFilter } from './filters.js';
import { Grid, type GridColumn } from './grid.js';
import type { Headers } from './header.js';
import { Pager } from './pager.js';
import { TableStatus } from './table-status.js';
import { TEXTS } from './texts.js';
import { ViewSettings } from './view-settings.js';

/** Shows a live table: `<live-table table="final_ui" />`. It fills its container. */
@Component({
  selector: 'live-table',
  imports: [ColumnChooser, ColumnFilterPanel, FilterBox, Pager],
  changeDetection: ChangeDetectionStrategy.OnPush,
  encapsulation: ViewEncapsulation.None,
  templateUrl: './live-table.html',
  styleUrls: ['./live-table.css', './panels.css', './cells.css'],
})
export class LiveTable {
  /** The public name of the table. */
  readonly table = input('');
  /** The same as `table`. */
  readonly tableName = input('');
  /** The number of rows to fetch at a time. */
  readonly pageSize = input(300, { transform: numberAttribute });
  /** The first row to show, from 0. */
  readonly initialOffset = input(0, { transform: numberAttribute });
  /** Names of columns, in order; default: all. */
  readonly columns = input<readonly string[] | null | undefined>(null);
  /** Names, `-` before one for descending. Users can change it with the headers. */
  readonly sort = input<readonly string[] | null | undefined>([]);
  /** See FILTERS.md. The user's filters are added with `and`. */
  readonly filter = input<string | null | undefined>('');

  private readonly evertable = inject(Evertable);
  private readonly document = inject(DOCUMENT);
  private readonly element: HTMLElement = inject(ElementRef).nativeElement;
  private readonly host = viewChild.required<ElementRef<HTMLElement>>('grid');
  private readonly name = computed(() => this.table() || this.tableName());

  protected readonly texts = TEXTS;
  protected readonly settings = new ViewSettings({
    name: this.name,
    columns: this.columns,
    sort: this.sort,
    filter: this.filter,
  });
  protected readonly status = new TableStatus(this.name, this.evertable.connection, this.settings.isFiltered);
  protected readonly boxError = computed(() => this.settings.errorOf(this.status.refusal()));
  /** A refusal that is not about the filter box, shown beside the rows; without rows it takes their place. */
  protected readonly problem = computed(() => {
    const refusal = this.status.refusal();
    return refusal && !this.boxError() && this.status.page() ? TEXTS.cannotShow(refusal) : '';
  });
  protected readonly gridColumns = signal<readonly GridColumn[]>([]);
  protected readonly isExporting = signal(false);
  protected readonly notice = signal('');
  /** The column whose filter panel is open, and the panel's position. */
  protected readonly openFilter = signal<{
    column: Column;
    header: HTMLElement;
    left: number;
    top: number;
  } | null>(null);

  private readonly headers: Headers = {
    onScreen: new Set(),
    sort: () => untracked(this.settings.sort),
    isFiltered: (column) => untracked(() => this.settings.filterOf(column) !== null),
    sortBy: (column, more) => this.settings.sortBy(column, more),
    filterBy: (column, header) => this.showFilter(column, header),
  };
  private readonly grid = signal<Grid | null>(null);
  private feed: Feed | null = null;

  constructor() {
    const nonce = inject(CSP_NONCE, { optional: true });
    const events = {
      scrolled: () => this.follow(),
      columnsChanged: () => this.gridColumns.set(untracked(this.grid)?.columns ?? []),
    };
    afterNextRender(() => this.grid.set(new Grid(this.host().nativeElement, this.headers, events, nonce)));
    effect((onCleanup) => {
      const grid = this.grid();
      const name = this.name();
      const pageSize = this.pageSize();
      if (!grid || !name) return;
      untracked(() => this.start(grid, name, pageSize));
      onCleanup(() => {
        this.feed?.dispose();
        this.feed = null;
      });
    });
    effect(() => {
      const query = this.settings.query();
      this.feed?.setQuery(query);
      for (const header of this.headers.onScreen) header.update();
    });
    effect((onCleanup) => {
      if (!this.notice()) return;
      const timer = setTimeout(() => this.notice.set(''), 4000);
      onCleanup(() => clearTimeout(timer));
    });
    inject(DestroyRef).onDestroy(() => untracked(this.grid)?.destroy());
  }

  protected goTo(row: number): void {
    this.grid()?.scrollTo(row);
  }

  /** Requests the whole page again, or reconnects if there is no connection. */
  protected refresh(): void {
    if (this.evertable.connection().state === 'live') this.feed?.refresh();
    else this.evertable.reconnect();
  }

  protected setVisible(columns: readonly string[], visible: boolean): void {
    this.grid()?.setVisible(columns, visible);
  }

  protected setFilter(column: Column, filter: ColumnFilter | null): void {
    this.settings.filterBy(column, filter);
    this.closeFilter();
  }

  protected closeFilter(): void {
    this.openFilter()?.header.focus();
    this.openFilter.set(null);
  }

  protected onKey(event: KeyboardEvent): void {
    if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== 'c') return;
    if (this.document.getSelection()?.toString()) return;
    event.preventDefault();
    this.copy(event.shiftKey);
  }

  /** Copies the focused cell as the server sent it, or its row for a spreadsheet. */
  protected async copy(row: boolean): Promise<void> {
    const focused = this.grid()?.focused;
    if (!focused) return this.notice.set(TEXTS.nothingFocused);
    const text = row ? asTsv(focused.row) : String(focused.value ?? '');
    this.notice.set((await copyText(text, this.document)) ? TEXTS.copied : TEXTS.notCopied);
  }

  /** Saves the whole table with its sort and filters and the visible columns. */
  protected async exportCsv(): Promise<void> {
    const columns = this.gridColumns().filter((column) => column.visible);
    const query = this.feed?.shownQuery ?? this.settings.query();
    this.isExporting.set(true);
    try {
      const path = csvPath(this.name(), { ...query, columns: columns.map((column) => column.name) });
      await saveAs(await this.evertable.request(path), `${this.name()}.csv`, this.document);
      this.notice.set(TEXTS.exported);
    } catch (error) {
      this.notice.set(TEXTS.notExported(error instanceof Error ? error.message : String(error)));
    } finally {
      this.isExporting.set(false);
    }
  }

  private start(grid: Grid, name: string, pageSize: number): void {
    grid.clear();
    grid.label(name);
    this.status.clear();
    this.feed = new Feed(
      (view, viewer) => this.evertable.subscribe(name, view, viewer),
      {
        show: (page, change, startRow) => {
          grid.show(page, change, startRow !== null);
          if (startRow !== null) grid.scrollTo(startRow);
          this.status.update(page, change);
          this.status.visibleRows.set(grid.visibleRows);
        },
        visibleRows: () => grid.visibleRows,
        refused: (reason) => this.status.refusal.set(reason),
        missing: (columns) => this.status.missing.set(columns),
        waiting: () => this.status.isWaiting.set(true),
      },
      this.settings.query(),
      pageSize,
      this.initialOffset(),
    );
  }

  private follow(): void {
    this.status.visibleRows.set(untracked(this.grid)?.visibleRows ?? null);
    this.feed?.follow();
  }

  private showFilter(name: string, header: HTMLElement): void {
    const column = this.status.page()?.columns.find((each) => each.name === name);
    if (!column) return;
    const at = header.getBoundingClientRect();
    const frame = this.element.getBoundingClientRect();
    const left = Math.max(0, Math.min(at.left - frame.left, frame.width - FILTER_WIDTH));
    this.openFilter.set({ column, header, left, top: at.bottom - frame.top });
  }
}

/** The width in panels.css. */
const FILTER_WIDTH = 260;
