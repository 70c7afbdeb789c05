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
import { asTsv, copyText } from './copy.js';
import { Evertable } from './evertable.js';
import { Feed } from './feed.js';
import { FilterBox } from './filter-box.js';
import type { ColumnFilter } from './filters.js';
import { Grid, type GridColumn } from './grid.js';
import type { Header, Heads } from './header.js';
import { Pager } from './pager.js';
import { csvPath, saveAs } from './save.js';
import { Showing } from './showing.js';
import { TEXTS } from './texts.js';
import { Wishes } from './wishes.js';

/** A table that follows its name for ever: `<live-table table="final_ui" />`. It fills its container. */
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
  /** Rows that are fetched at a time. */
  readonly pageSize = input(300, { transform: numberAttribute });
  /** The row to begin at, from 0. */
  readonly initialOffset = input(0, { transform: numberAttribute });
  /** Names of columns, in order; all if not said. */
  readonly columns = input<readonly string[] | null | undefined>(null);
  /** Names, `-` before one for descending. People may sort otherwise by the headers. */
  readonly sort = input<readonly string[] | null | undefined>([]);
  /** See FILTERS.md. What people filter by comes on top. */
  readonly filter = input<string | null | undefined>('');

  private readonly evertable = inject(Evertable);
  private readonly document = inject(DOCUMENT);
  private readonly element: HTMLElement = inject(ElementRef).nativeElement;
  private readonly host = viewChild.required<ElementRef<HTMLElement>>('grid');
  private readonly name = computed(() => this.table() || this.tableName());

  protected readonly texts = TEXTS;
  protected readonly wishes = new Wishes({
    name: this.name,
    columns: this.columns,
    sort: this.sort,
    filter: this.filter,
  });
  protected readonly showing = new Showing(this.name, this.evertable.connection, this.wishes.isFiltered);
  protected readonly boxError = computed(() => this.wishes.errorOf(this.showing.refusal()));
  /** A refusal that is not about the filter box, while there are rows that it does not stand in place of. */
  protected readonly problem = computed(() => {
    const refusal = this.showing.refusal();
    return refusal && !this.boxError() && this.showing.facts() ? TEXTS.cannotShow(refusal) : '';
  });
  protected readonly gridColumns = signal<readonly GridColumn[]>([]);
  protected readonly exporting = signal(false);
  protected readonly notice = signal('');
  /** The column whose filter is asked for, and where. */
  protected readonly asking = signal<{
    column: Column;
    header: HTMLElement;
    left: number;
    top: number;
  } | null>(null);

  private readonly heads: Heads & { shown: Set<Header> } = {
    shown: new Set(),
    sort: () => untracked(this.wishes.sort),
    isFiltered: (column) => untracked(() => this.wishes.filterOf(column) !== null),
    sortBy: (column, more) => this.wishes.sortBy(column, more),
    filterBy: (column, header) => this.openFilter(column, header),
  };
  private readonly grid = signal<Grid | null>(null);
  private feed: Feed | null = null;

  constructor() {
    const nonce = inject(CSP_NONCE, { optional: true });
    const events = {
      scrolled: () => this.follow(),
      columnsChanged: () => this.gridColumns.set(untracked(this.grid)?.columns ?? []),
    };
    afterNextRender(() => this.grid.set(new Grid(this.host().nativeElement, this.heads, events, nonce)));
    effect((stop) => {
      const grid = this.grid();
      const name = this.name();
      const pageSize = this.pageSize();
      if (!grid || !name) return;
      untracked(() => this.start(grid, name, pageSize));
      stop(() => {
        this.feed?.dispose();
        this.feed = null;
      });
    });
    effect(() => {
      const query = this.wishes.query();
      this.feed?.ask(query);
      for (const header of this.heads.shown) header.update();
    });
    effect((stop) => {
      if (!this.notice()) return;
      const timer = setTimeout(() => this.notice.set(''), 4000);
      stop(() => clearTimeout(timer));
    });
    inject(DestroyRef).onDestroy(() => untracked(this.grid)?.destroy());
  }

  protected goTo(row: number): void {
    this.grid()?.scrollTo(row);
  }

  /** The whole page again; and the connection, if it was refused. */
  protected refresh(): void {
    if (this.evertable.connection().state === 'live') this.feed?.refresh();
    else this.evertable.reconnect();
  }

  protected setVisible(columns: readonly string[], visible: boolean): void {
    this.grid()?.setVisible(columns, visible);
  }

  protected setFilter(column: Column, filter: ColumnFilter | null): void {
    this.wishes.filterBy(column, filter);
    this.closeFilter();
  }

  protected closeFilter(): void {
    this.asking()?.header.focus();
    this.asking.set(null);
  }

  protected onKey(event: KeyboardEvent): void {
    if (!(event.ctrlKey || event.metaKey) || event.key.toLowerCase() !== 'c') return;
    if (this.document.getSelection()?.toString()) return;
    event.preventDefault();
    this.copy(event.shiftKey);
  }

  /** The focused cell as it came from the server, or its row for a spreadsheet. */
  protected async copy(row: boolean): Promise<void> {
    const focused = this.grid()?.focused;
    if (!focused) return this.notice.set(TEXTS.nothingFocused);
    const text = row ? asTsv(focused.row) : String(focused.value ?? '');
    this.notice.set((await copyText(text, this.document)) ? TEXTS.copied : TEXTS.notCopied);
  }

  /** The whole table as it is sorted and filtered, with the columns that are shown. */
  protected async exportCsv(): Promise<void> {
    const columns = this.gridColumns().filter((column) => column.visible);
    const query = this.feed?.showing ?? this.wishes.query();
    this.exporting.set(true);
    try {
      const path = csvPath(this.name(), { ...query, columns: columns.map((column) => column.name) });
      await saveAs(await this.evertable.request(path), `${this.name()}.csv`, this.document);
      this.notice.set(TEXTS.exported);
    } catch (error) {
      this.notice.set(TEXTS.notExported(error instanceof Error ? error.message : String(error)));
    } finally {
      this.exporting.set(false);
    }
  }

  private start(grid: Grid, name: string, pageSize: number): void {
    grid.clear();
    grid.label(name);
    this.showing.clear();
    this.feed = new Feed(
      (view, viewer) => this.evertable.subscribe(name, view, viewer),
      {
        show: (page, change, fresh) => {
          grid.show(page, change, fresh !== null);
          if (fresh !== null) grid.scrollTo(fresh);
          this.showing.take(page, change);
          this.showing.seen.set(grid.seen);
        },
        seen: () => grid.seen,
        refused: (reason) => this.showing.refusal.set(reason),
        missing: (columns) => this.showing.missing.set(columns),
        waiting: () => this.showing.waiting.set(true),
      },
      this.wishes.query(),
      pageSize,
      this.initialOffset(),
    );
  }

  private follow(): void {
    this.showing.seen.set(untracked(this.grid)?.seen ?? null);
    this.feed?.follow();
  }

  private openFilter(name: string, header: HTMLElement): void {
    const column = this.showing.facts()?.columns.find((each) => each.name === name);
    if (!column) return;
    const at = header.getBoundingClientRect();
    const frame = this.element.getBoundingClientRect();
    const left = Math.max(0, Math.min(at.left - frame.left, frame.width - FILTER_WIDTH));
    this.asking.set({ column, header, left, top: at.bottom - frame.top });
  }
}

/** As in the style sheet. */
const FILTER_WIDTH = 260;
