import type { Change, Page, Refusal, Subscription, View, Viewer } from '@evertable/client';
import { BARE, keyOf, type Query, sameQuery, viewOf, without } from './query.js';
import { holds, RowWindow } from './window.js';

/** The screen that a feed fills. */
export interface Screen {
  /** Shows a page. `fresh`: it is the first one of what was asked for, so begin at this row of it. */
  show(page: Page, change: Change, fresh: number | null): void;
  /** Rows on screen; null while there are none. */
  seen(): { first: number; last: number } | null;
  /** What was asked for cannot be shown; null once it can. */
  refused(reason: Refusal | null): void;
  /** Columns that a swap took away, and that are thus neither sorted nor filtered by. */
  missing(columns: readonly string[]): void;
  waiting(): void;
}

/**
 * One subscription whose window follows the screen.
 *
 * There is one request for other rows at a time, so that scrolling asks as often as the server answers. A page that
 * lacks rows which the screen shows (a swap to a shorter table) is held back until the page that has them is there.
 * What is refused is given up for what was shown before, or else for the bare table, and tried again after a swap.
 */
export class Feed {
  private readonly window: RowWindow;
  private readonly subscription: Subscription;
  private asking: Query;
  private asked: View;
  private good: Query | null = null;
  private gone: readonly string[] = [];
  private shown: Page | null = null;
  private latest: Page | null = null;
  private held: 'nothing' | 'page' | 'swap' = 'nothing';
  private pending = true;
  private fresh: number | null;

  constructor(
    subscribe: (view: View, viewer: Viewer) => Subscription,
    private readonly screen: Screen,
    private wanted: Query,
    pageSize: number,
    start: number,
  ) {
    this.window = new RowWindow(pageSize, start);
    this.fresh = this.window.offset;
    this.asking = wanted;
    this.asked = viewOf(wanted, this.window.offset, this.window.limit);
    this.subscription = subscribe(this.asked, {
      page: (page, change) => this.take(page, change),
      refused: (reason) => this.refuse(reason),
      waiting: () => screen.waiting(),
    });
  }

  /** Looks at other rows, from the first one on; the ones of now stay until they are there. */
  ask(wanted: Query): void {
    if (sameQuery(wanted, this.wanted)) return;
    this.wanted = wanted;
    this.fresh = 0;
    this.window.reset();
    this.send(this.best);
  }

  /** The screen shows other rows now. */
  follow(): void {
    const seen = this.screen.seen();
    if (!seen || !this.latest || this.pending) return;
    const { first, last } = within(seen, this.latest.total);
    if (this.window.cover(first, last, this.latest.total)) this.send(this.asking);
  }

  /** The whole page again, also of what was refused before. */
  refresh(): void {
    this.send(this.wanted);
  }

  dispose(): void {
    this.subscription.dispose();
  }

  /** What the rows on screen answer; null before the first. */
  get showing(): Query | null {
    return this.good;
  }

  /** What is wanted, without what is gone. */
  private get best(): Query {
    return this.gone.length ? without(this.wanted, this.gone) : this.wanted;
  }

  private send(query: Query): void {
    this.asking = query;
    this.asked = viewOf(query, this.window.offset, this.window.limit);
    this.pending = true;
    this.subscription.view(this.asked);
  }

  private take(page: Page, change: Change): void {
    const swapped = change.kind === 'page' && change.swapped;
    const answered = this.pending && keyOf(page.view) === keyOf(this.asked);
    this.latest = page;
    if (answered) this.settle();
    if (this.isFit(page, answered)) this.show(page, change, answered);
    else if (swapped) this.held = 'swap';
    else if (this.held === 'nothing') this.held = 'page';

    if (page.missing.length && !this.pending) this.lose(page.missing);
    else if (swapped && !sameQuery(this.asking, this.wanted)) this.send(this.wanted);
    else this.follow();
  }

  private settle(): void {
    this.pending = false;
    this.good = this.asking;
    if (sameQuery(this.asking, this.wanted) && !this.latest?.missing.length) this.setGone([]);
    if (sameQuery(this.asking, this.best)) this.screen.refused(null);
  }

  /** Whether a page is shown at once: not if that would blank rows that are on screen. */
  private isFit(page: Page, answered: boolean): boolean {
    if (this.fresh !== null) return answered || this.shown !== null;
    const seen = this.screen.seen();
    if (!seen || !this.shown || !holds(this.shown, seen.first, seen.last)) return true;
    const { first, last } = within(seen, page.total);
    return holds(page, first, last);
  }

  private show(page: Page, change: Change, answered: boolean): void {
    const fresh = answered ? this.fresh : null;
    if (answered) this.fresh = null;
    const whole = { kind: 'page', swapped: this.held === 'swap' } as const;
    const said = this.held === 'nothing' || (change.kind === 'page' && change.swapped) ? change : whole;
    this.shown = page;
    this.held = 'nothing';
    this.screen.show(page, said, fresh);
  }

  private lose(columns: readonly string[]): void {
    this.setGone([...new Set([...this.gone, ...columns])]);
    this.send(sameQuery(this.best, this.asking) ? BARE : this.best);
  }

  private setGone(columns: readonly string[]): void {
    if (columns.join() === this.gone.join()) return;
    this.gone = columns;
    this.screen.missing(columns);
  }

  /** Looks at what was shown before, where the screen still is. */
  private goBack(query: Query, { total }: Page): void {
    const seen = this.screen.seen();
    if (seen) this.window.cover(seen.first, seen.last, total);
    this.fresh = null;
    this.send(query);
  }

  private refuse(reason: Refusal): void {
    const refused = this.asking;
    const missing = this.latest?.missing ?? [];
    if (!ABOUT_VIEWS.has(reason.condition)) {
      this.pending = true; // Another view would fare no better; the client goes on trying this one.
      this.screen.refused(reason);
    } else if (missing.some((name) => !this.gone.includes(name))) {
      this.lose(missing);
    } else if (sameQuery(refused, this.wanted) && !sameQuery(refused, this.best)) {
      this.send(this.best);
    } else {
      this.screen.refused(reason);
      this.pending = false;
      const next = [this.good, BARE].find((query) => query !== null && !sameQuery(query, refused));
      if (this.latest && next && !sameQuery(refused, BARE)) this.goBack(next, this.latest);
    }
  }
}

/** What the server refuses because of the view, not of the table or the socket. */
const ABOUT_VIEWS = new Set([
  'COLUMN_NOT_FOUND',
  'FILTER_INVALID',
  'FILTER_TOO_LONG',
  'PAGE_TOO_LARGE',
  'QUERY_TIMEOUT',
  'TOO_MANY_QUERIES',
  'TOO_MANY_VIEWS',
]);

/** The rows that would be on screen if the table had this many. */
function within(
  { first, last }: { first: number; last: number },
  total: number,
): { first: number; last: number } {
  const end = Math.max(0, Math.min(last, total - 1));
  return { first: Math.max(0, Math.min(first, end - (last - first))), last: end };
}
