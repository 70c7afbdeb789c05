/** Builds one subscription's page from the frames of successive sockets; does no I/O. */

import {
  type PageFrame,
  type PatchFrame,
  type Request,
  refusalIn,
  type Stamp,
  type SubscriptionFrame,
  type TotalFrame,
} from './frames.js';
import { changeOf, patched } from './patch.js';
import type { Change, Page, Refusal, View } from './types.js';
import { plain } from './view.js';

/** A callback that the viewer is to receive. */
export type ViewerEvent =
  | { readonly kind: 'page'; readonly page: Page; readonly change: Change }
  | { readonly kind: 'waiting' }
  | { readonly kind: 'refused'; readonly reason: Refusal };

/** What follows from a frame or a request: first frames to send, then events for the viewer. */
export interface Step {
  readonly send: readonly Request[];
  readonly events: readonly ViewerEvent[];
}

const NOTHING: Step = { send: [], events: [] };
const NO_ROOM = 'TOO_MANY_SUBSCRIPTIONS';

interface SentView {
  readonly tag: number;
  readonly view: View;
}

/**
 * Turns frames into pages. `page` is the newest one that was shown; it stays while a new socket is opened.
 *
 * `#sent` holds the views sent on this socket, oldest first: the one that the server follows (or the subscription
 * itself, while it is unanswered), then the unanswered ones. It is empty if the server has no subscription. Only pages
 * of the last view are shown. Pages of the first are kept, because that view continues if the others are refused.
 */
export class PageTracker {
  page: Page | null = null;
  #view: View;
  #shownView: View | null = null; // the view of the last page that was shown
  #sent: SentView[] = [];
  #received: { readonly tag: number; readonly page: Page } | null = null; // the page that patches apply to
  #tag = 0;
  #lacksRoom = false;

  constructor(
    readonly id: string,
    readonly table: string,
    view: View,
  ) {
    this.#view = view;
  }

  /** Subscribes on a new socket, or again on the same one. */
  subscribe(): Step {
    this.#received = null;
    this.#lacksRoom = false;
    this.#sent = [{ tag: ++this.#tag, view: this.#view }];
    return sending({
      type: 'subscribe',
      id: this.id,
      table: this.table,
      tag: this.#tag,
      view: plain(this.#view),
    });
  }

  /** Subscribes if the server had no room for it, now that another subscription has ended. */
  retry(): Step {
    return this.#lacksRoom ? this.subscribe() : NOTHING;
  }

  /** Requests another part of the table. */
  setView(view: View): Step {
    this.#view = view;
    if (!this.#sent.length) return this.subscribe();
    this.#sent.push({ tag: ++this.#tag, view });
    return sending({ type: 'view', id: this.id, tag: this.#tag, view: plain(view) });
  }

  receive(frame: SubscriptionFrame): Step {
    const index = this.#sent.findIndex((sent) => sent.tag === frame.tag);
    const sent = this.#sent[index];
    if (!sent) return NOTHING; // answers a view that was replaced
    if (frame.type === 'error') return this.#refused(index, refusalIn(frame) as Refusal);
    this.#sent.splice(0, index); // the server has moved on to this view
    switch (frame.type) {
      case 'waiting':
        return this.#sent.length === 1 ? emitting({ kind: 'waiting' }) : NOTHING;
      case 'page':
        return this.#isOld(frame) ? NOTHING : this.#accept(frame.tag, pageOf(frame, sent.view), null);
      default:
        return this.#isOld(frame) ? NOTHING : this.#apply(frame);
    }
  }

  #apply(frame: PatchFrame | TotalFrame): Step {
    const page = this.#received?.tag === frame.tag ? this.#received.page : null;
    if (page?.generation !== frame.generation || page.publication !== frame.publication)
      return this.#resubscribe();
    const { version, total } = frame;
    if (frame.type === 'total')
      return this.#accept(frame.tag, { ...page, version, total }, { kind: 'total' });
    const rows = patched(page, frame);
    if (!rows) return this.#resubscribe();
    return this.#accept(frame.tag, { ...page, version, total, offset: frame.offset, rows }, changeOf(frame));
  }

  /** Keeps a page, and shows it unless a newer view was requested. */
  #accept(tag: number, page: Page, change: Change | null): Step {
    this.#received = { tag, page };
    return this.#sent.length === 1 ? this.#show(page, change) : NOTHING;
  }

  #show(page: Page, change: Change | null): Step {
    const swapped = this.page !== null && this.page.generation !== page.generation;
    this.page = page;
    this.#shownView = page.view;
    return emitting({ kind: 'page', page, change: change ?? { kind: 'page', swapped } });
  }

  #refused(index: number, reason: Refusal): Step {
    const isNewest = index === this.#sent.length - 1;
    if (index === 0) return isNewest ? this.#subscriptionRefused(reason) : this.subscribe(); // later views need one
    this.#sent.splice(index, 1);
    if (!isNewest) return NOTHING; // a newer view has replaced it
    const last = this.#sent.at(-1) as SentView;
    this.#view = last.view;
    const received = this.#received?.tag === last.tag ? this.#received.page : null;
    const events = received && received !== this.page ? this.#show(received, null).events : [];
    return emitting(...events, { kind: 'refused', reason }); // last, because a page clears a refusal
  }

  /** Falls back once to the view that was shown before, then waits for another socket. */
  #subscriptionRefused(reason: Refusal): Step {
    const events: ViewerEvent[] = [{ kind: 'refused', reason }];
    this.#sent = [];
    this.#lacksRoom = reason.condition === NO_ROOM;
    if (this.#lacksRoom || !this.#shownView || this.#shownView === this.#view) return emitting(...events);
    this.#view = this.#shownView;
    return { send: this.subscribe().send, events };
  }

  /** Fetches the whole page, because a change does not fit the rows that are here. */
  #resubscribe(): Step {
    return { send: [{ type: 'unsubscribe', id: this.id }, ...this.subscribe().send], events: [] };
  }

  #isOld(stamp: Stamp): boolean {
    const page = this.#received?.page;
    return page !== undefined && (stamp.publication - page.publication || stamp.version - page.version) < 0;
  }
}

function pageOf(frame: PageFrame, view: View): Page {
  const { table, generation, publication, version, total, offset, columns, rows, missing = [] } = frame;
  return { table, generation, publication, version, total, offset, columns, rows, missing, view };
}

function sending(request: Request): Step {
  return { send: [request], events: [] };
}

function emitting(...events: ViewerEvent[]): Step {
  return { send: [], events };
}
