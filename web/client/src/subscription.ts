/** Connects a viewer to the tracker of its page. */

import type { Request, SubscriptionFrame } from './frames.js';
import { PageTracker, type Step, type ViewerEvent } from './page-tracker.js';
import { guarded } from './platform.js';
import type { Page, Subscription, View, Viewer } from './types.js';
import { check } from './view.js';

export class TableSubscription implements Subscription {
  readonly #tracker: PageTracker;
  #isDisposed = false;

  constructor(
    readonly id: string,
    readonly table: string,
    view: View,
    private readonly viewer: Viewer,
    private readonly send: (request: Request) => void,
    private readonly ended: (subscription: TableSubscription) => void,
  ) {
    check(table, view);
    this.#tracker = new PageTracker(id, table, view);
  }

  get page(): Page | null {
    return this.#tracker.page;
  }

  view(view: View): void {
    if (this.#isDisposed) throw new Error(`This subscription to ${this.table} was disposed.`);
    check(this.table, view);
    this.#run(this.#tracker.setView(view));
  }

  subscribe(): void {
    this.#run(this.#tracker.subscribe());
  }

  retry(): void {
    this.#run(this.#tracker.retry());
  }

  receive(frame: SubscriptionFrame): void {
    this.#run(this.#tracker.receive(frame));
  }

  dispose(): void {
    if (this.#isDisposed) return;
    this.#isDisposed = true;
    this.ended(this);
  }

  #run({ send, events }: Step): void {
    for (const request of send) this.send(request);
    for (const event of events) if (!this.#isDisposed) guarded(() => this.#notify(event));
  }

  #notify(event: ViewerEvent): void {
    if (event.kind === 'page') this.viewer.page(event.page, event.change);
    else if (event.kind === 'waiting') this.viewer.waiting?.();
    else this.viewer.refused?.(event.reason);
  }
}
