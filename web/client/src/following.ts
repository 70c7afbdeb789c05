/** One subscription's page, put together from the frames of one socket after the other; knows no socket itself. */

import type { PageFrame, PatchFrame, Request, Stamp, SubscriptionFrame, TotalFrame } from './frames.js';
import { changeOf, patched } from './patch.js';
import { refusalIn } from './refusal.js';
import type { Change, Page, Refusal, View } from './types.js';
import { plain } from './view.js';

/** What a viewer is to hear. */
export type News =
  | { readonly kind: 'page'; readonly page: Page; readonly change: Change }
  | { readonly kind: 'waiting' }
  | { readonly kind: 'refused'; readonly reason: Refusal };

/** What comes of a frame or a wish: frames to send, then news to tell. */
export interface Step {
  readonly send: readonly Request[];
  readonly news: readonly News[];
}

const NOTHING: Step = { send: [], news: [] };
const FULL = 'TOO_MANY_SUBSCRIPTIONS';

interface Asked {
  readonly tag: number;
  readonly view: View;
}

/**
 * Takes frames and gives news. `page` is the newest one that was shown; it stays while a new socket is fetched.
 *
 * `#asked` are views on this socket, oldest first: the one that the server goes by (or the subscription itself, while
 * it is not answered), then those not answered yet. It is empty if the server has no subscription. Only pages of the
 * last one are shown. Those of the first are held meanwhile: it goes on if the others are refused.
 */
export class Following {
  page: Page | null = null;
  #view: View;
  #good: View | null = null; // that of the last page that was shown
  #asked: Asked[] = [];
  #held: { readonly tag: number; readonly page: Page } | null = null; // what the server knows us to have
  #tag = 0;
  #full = false;

  constructor(
    readonly id: string,
    readonly table: string,
    view: View,
  ) {
    this.#view = view;
  }

  /** Begins on a new socket, or afresh on the same one. */
  attach(): Step {
    this.#held = null;
    this.#full = false;
    this.#asked = [{ tag: ++this.#tag, view: this.#view }];
    return sending({
      type: 'subscribe',
      id: this.id,
      table: this.table,
      tag: this.#tag,
      view: plain(this.#view),
    });
  }

  /** Begins if there was no room for it before; somebody has left. */
  retry(): Step {
    return this.#full ? this.attach() : NOTHING;
  }

  /** Looks at another part of the table. */
  look(view: View): Step {
    this.#view = view;
    if (!this.#asked.length) return this.attach();
    this.#asked.push({ tag: ++this.#tag, view });
    return sending({ type: 'view', id: this.id, tag: this.#tag, view: plain(view) });
  }

  receive(frame: SubscriptionFrame): Step {
    const index = this.#asked.findIndex((asked) => asked.tag === frame.tag);
    const asked = this.#asked[index];
    if (!asked) return NOTHING; // of a view that is over
    if (frame.type === 'error') return this.#refuse(index, refusalIn(frame) as Refusal);
    this.#asked.splice(0, index); // the server has gone on to this view
    switch (frame.type) {
      case 'waiting':
        return this.#asked.length === 1 ? telling({ kind: 'waiting' }) : NOTHING;
      case 'page':
        return this.#isOld(frame) ? NOTHING : this.#hold(frame.tag, pageOf(frame, asked.view), null);
      default:
        return this.#isOld(frame) ? NOTHING : this.#change(frame);
    }
  }

  #change(frame: PatchFrame | TotalFrame): Step {
    const page = this.#held?.tag === frame.tag ? this.#held.page : null;
    if (page?.generation !== frame.generation || page.publication !== frame.publication)
      return this.#afresh();
    const { version, total } = frame;
    if (frame.type === 'total') return this.#hold(frame.tag, { ...page, version, total }, { kind: 'total' });
    const rows = patched(page, frame);
    if (!rows) return this.#afresh();
    return this.#hold(frame.tag, { ...page, version, total, offset: frame.offset, rows }, changeOf(frame));
  }

  /** Keeps a page, and shows it if no newer view was asked for. */
  #hold(tag: number, page: Page, change: Change | null): Step {
    this.#held = { tag, page };
    return this.#asked.length === 1 ? this.#show(page, change) : NOTHING;
  }

  #show(page: Page, change: Change | null): Step {
    const swapped = this.page !== null && this.page.generation !== page.generation;
    this.page = page;
    this.#good = page.view;
    return telling({ kind: 'page', page, change: change ?? { kind: 'page', swapped } });
  }

  #refuse(index: number, reason: Refusal): Step {
    const isNewest = index === this.#asked.length - 1;
    if (index === 0) return isNewest ? this.#turnedAway(reason) : this.attach(); // later ones have nothing to change
    this.#asked.splice(index, 1);
    if (!isNewest) return NOTHING; // nobody waits for it any more
    const last = this.#asked.at(-1) as Asked;
    this.#view = last.view;
    const held = this.#held?.tag === last.tag ? this.#held.page : null;
    const news = held && held !== this.page ? this.#show(held, null).news : [];
    return telling(...news, { kind: 'refused', reason }); // in this order: a page may clear what was refused
  }

  /** There is no subscription; the view that was good before is tried once, then it waits for another socket. */
  #turnedAway(reason: Refusal): Step {
    const news: News[] = [{ kind: 'refused', reason }];
    this.#asked = [];
    this.#full = reason.condition === FULL;
    if (this.#full || !this.#good || this.#good === this.#view) return telling(...news);
    this.#view = this.#good;
    return { send: this.attach().send, news };
  }

  /** A change that does not fit what is here: better to ask for the whole page than to show garbage. */
  #afresh(): Step {
    return { send: [{ type: 'unsubscribe', id: this.id }, ...this.attach().send], news: [] };
  }

  #isOld(stamp: Stamp): boolean {
    const held = this.#held?.page;
    return held !== undefined && (stamp.publication - held.publication || stamp.version - held.version) < 0;
  }
}

function pageOf(frame: PageFrame, view: View): Page {
  const { table, generation, publication, version, total, offset, columns, rows, missing = [] } = frame;
  return { table, generation, publication, version, total, offset, columns, rows, missing, view };
}

function sending(request: Request): Step {
  return { send: [request], news: [] };
}

function telling(...news: News[]): Step {
  return { send: [], news };
}
