/** A table that somebody looks at: a following, and the viewer that hears of it. */

import { Following, type News, type Step } from './following.js';
import type { Request, SubscriptionFrame } from './frames.js';
import { guarded } from './surroundings.js';
import type { Page, Subscription, View, Viewer } from './types.js';
import { check } from './view.js';

export class TableSubscription implements Subscription {
  readonly #following: Following;
  #disposed = false;

  constructor(
    readonly id: string,
    readonly table: string,
    view: View,
    private readonly viewer: Viewer,
    private readonly send: (request: Request) => void,
    private readonly left: (subscription: TableSubscription) => void,
  ) {
    check(table, view);
    this.#following = new Following(id, table, view);
  }

  get page(): Page | null {
    return this.#following.page;
  }

  view(view: View): void {
    if (this.#disposed) throw new Error(`This subscription of ${this.table} was disposed.`);
    check(this.table, view);
    this.#take(this.#following.look(view));
  }

  attach(): void {
    this.#take(this.#following.attach());
  }

  retry(): void {
    this.#take(this.#following.retry());
  }

  receive(frame: SubscriptionFrame): void {
    this.#take(this.#following.receive(frame));
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.left(this);
  }

  #take({ send, news }: Step): void {
    for (const request of send) this.send(request);
    for (const one of news) if (!this.#disposed) guarded(() => this.#tell(one));
  }

  #tell(news: News): void {
    if (news.kind === 'page') this.viewer.page(news.page, news.change);
    else if (news.kind === 'waiting') this.viewer.waiting?.();
    else this.viewer.refused?.(news.reason);
  }
}
