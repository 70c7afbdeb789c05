import type { Change, Page, Refusal, Subscription, View, Viewer } from '@evertable/client';
import { BARE, keyOf, type Query, sameQuery, viewOf, without } from './query.js';
import { holds, type RowRange, RowWindow } from './row-window.js';

/** The screen that a feed fills. */
export interface Screen {
  /** Shows a page. For the first page of a query, `startRow` is the row to scroll to; otherwise null. */
  show(page: Page, change: Change, startRow: number | null): void;
  /** Returns the rows on screen; null if there are none. */
  visibleRows(): RowRange | null;
  /** The query cannot be shown; null once it can. */
  refused(reason: Refusal | null): void;
  /** Columns that a swap removed, and that are therefore neither sorted nor filtered by. */
  missing(columns: readonly string[]): void;
  waiting(): void;
}

/**
 * Keeps the window of one subscription around the rows on screen.
 *
 * Only one request for other rows is open at a time, so that scrolling sends requests as fast as the server answers. A
 * page that lacks rows on screen (after a swap to a shorter table) is deferred until the page with the right rows is
 * there. After a refusal, the query that was shown before continues, or else the bare table; the refused one is tried
 * again after a swap.
 */
export class Feed {
  private readonly window: RowWindow;
  private readonly subscription: Subscription;
  private sentQuery: Query;
  private sentView: View;
  private answeredQuery: Query | null = null;
  private removedColumns: readonly string[] = [];
  private shownPage: Page | null = null;
  private latestPage: Page | null = null;
  private deferred: 'nothing' | 'page' | 'swap' = 'nothing';
  private isPending = true;
  private startRow: number | null;

  constructor(
    subscribe: (view: View, viewer: Viewer) => Subscription,
    private readonly screen: Screen,
    private query: Query,
    pageSize: number,
    initialOffset: number,
  ) {
    this.window = new RowWindow(pageSize, initialOffset);
    this.startRow = this.window.offset;
    this.sentQuery = query;
    this.sentView = viewOf(query, this.window.offset, this.window.limit);
    this.subscription = subscribe(this.sentView, {
      page: (page, change) => this.receive(page, change),
      refused: (reason) => this.refuse(reason),
      waiting: () => screen.waiting(),
    });
  }

  /** Requests another query from its first row; the current rows stay until the new ones arrive. */
  setQuery(query: Query): void {
    if (sameQuery(query, this.query)) return;
    this.query = query;
    this.startRow = 0;
    this.window.reset();
    this.send(this.possibleQuery);
  }

  /** Moves the window after the rows on screen. */
  follow(): void {
    const visible = this.screen.visibleRows();
    if (!visible || !this.latestPage || this.isPending) return;
    const { total } = this.latestPage;
    const { first, last } = clamped(visible, total);
    if (this.window.cover(first, last, total)) this.send(this.sentQuery);
  }

  /** Requests the whole page again, even if the query was refused before. */
  refresh(): void {
    this.send(this.query);
  }

  dispose(): void {
    this.subscription.dispose();
  }

  /** The query that the rows on screen answer; null before the first rows. */
  get shownQuery(): Query | null {
    return this.answeredQuery;
  }

  /** The query without removed columns. */
  private get possibleQuery(): Query {
    return this.removedColumns.length ? without(this.query, this.removedColumns) : this.query;
  }

  private send(query: Query): void {
    this.sentQuery = query;
    this.sentView = viewOf(query, this.window.offset, this.window.limit);
    this.isPending = true;
    this.subscription.view(this.sentView);
  }

  private receive(page: Page, change: Change): void {
    const isSwap = change.kind === 'page' && change.swapped;
    const isAnswer = this.isPending && keyOf(page.view) === keyOf(this.sentView);
    this.latestPage = page;
    if (isAnswer) this.settle();
    if (this.canShow(page, isAnswer)) this.show(page, change, isAnswer);
    else if (isSwap) this.deferred = 'swap';
    else if (this.deferred === 'nothing') this.deferred = 'page';

    if (page.missing.length && !this.isPending) this.dropColumns(page.missing);
    else if (isSwap && !sameQuery(this.sentQuery, this.query)) this.send(this.query);
    else this.follow();
  }

  private settle(): void {
    this.isPending = false;
    this.answeredQuery = this.sentQuery;
    if (sameQuery(this.sentQuery, this.query) && !this.latestPage?.missing.length) this.setRemovedColumns([]);
    if (sameQuery(this.sentQuery, this.possibleQuery)) this.screen.refused(null);
  }

  /** Whether a page can be shown without blanking rows that are on screen. */
  private canShow(page: Page, isAnswer: boolean): boolean {
    if (this.startRow !== null) return isAnswer || this.shownPage !== null;
    const visible = this.screen.visibleRows();
    if (!visible || !this.shownPage || !holds(this.shownPage, visible.first, visible.last)) return true;
    const { first, last } = clamped(visible, page.total);
    return holds(page, first, last);
  }

  private show(page: Page, change: Change, isAnswer: boolean): void {
    const startRow = isAnswer ? this.startRow : null;
    if (isAnswer) this.startRow = null;
    const wholePage = { kind: 'page', swapped: this.deferred === 'swap' } as const;
    const isComplete = this.deferred === 'nothing' || (change.kind === 'page' && change.swapped);
    this.shownPage = page;
    this.deferred = 'nothing';
    this.screen.show(page, isComplete ? change : wholePage, startRow);
  }

  private dropColumns(columns: readonly string[]): void {
    this.setRemovedColumns([...new Set([...this.removedColumns, ...columns])]);
    this.send(sameQuery(this.possibleQuery, this.sentQuery) ? BARE : this.possibleQuery);
  }

  private setRemovedColumns(columns: readonly string[]): void {
    if (columns.join() === this.removedColumns.join()) return;
    this.removedColumns = columns;
    this.screen.missing(columns);
  }

  /** Returns to an earlier query at the rows on screen. */
  private goBack(query: Query, { total }: Page): void {
    const visible = this.screen.visibleRows();
    if (visible) this.window.cover(visible.first, visible.last, total);
    this.startRow = null;
    this.send(query);
  }

  private refuse(reason: Refusal): void {
    const refused = this.sentQuery;
    const missing = this.latestPage?.missing ?? [];
    if (!VIEW_CONDITIONS.has(reason.condition)) {
      this.isPending = true; // the client keeps trying this view, and another one would be refused, too
      this.screen.refused(reason);
    } else if (missing.some((name) => !this.removedColumns.includes(name))) {
      this.dropColumns(missing);
    } else if (sameQuery(refused, this.query) && !sameQuery(refused, this.possibleQuery)) {
      this.send(this.possibleQuery);
    } else {
      this.screen.refused(reason);
      this.isPending = false;
      const fallback = [this.answeredQuery, BARE].find(
        (query) => query !== null && !sameQuery(query, refused),
      );
      if (this.latestPage && fallback && !sameQuery(refused, BARE)) this.goBack(fallback, this.latestPage);
    }
  }
}

/** Refusals that are about the view, not about the table or the socket. */
const VIEW_CONDITIONS = new Set([
  'COLUMN_NOT_FOUND',
  'FILTER_INVALID',
  'FILTER_TOO_LONG',
  'PAGE_TOO_LARGE',
  'QUERY_TIMEOUT',
  'TOO_MANY_QUERIES',
  'TOO_MANY_VIEWS',
]);

/** Returns the rows that would be on screen in a table of `total` rows. */
function clamped({ first, last }: RowRange, total: number): RowRange {
  const end = Math.max(0, Math.min(last, total - 1));
  return { first: Math.max(0, Math.min(first, end - (last - first))), last: end };
}
