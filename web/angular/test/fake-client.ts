import type {
  Change,
  Column,
  Connection,
  Page,
  Refusal,
  Row,
  Subscription,
  View,
  Viewer,
} from '@evertable/client';
import type { LiveClient } from '../src/index';

/** A client that tests control, and that records its calls. */
export class FakeClient implements LiveClient {
  connection: Connection = { state: 'connecting', since: 0, attempts: 0, retryAt: null, reason: null };
  readonly subscriptions: FakeSubscription[] = [];
  readonly requests: string[] = [];
  answer: () => Promise<Response> = async () => new Response('');
  reconnects = 0;
  disposed = false;
  private readonly listeners = new Set<(connection: Connection) => void>();

  onConnection(call: (connection: Connection) => void): () => void {
    this.listeners.add(call);
    call(this.connection);
    return () => this.listeners.delete(call);
  }

  become(connection: Partial<Connection>): void {
    this.connection = { ...this.connection, attempts: 0, reason: null, since: Date.now(), ...connection };
    for (const call of this.listeners) call(this.connection);
  }

  subscribe(table: string, view: View, viewer: Viewer): FakeSubscription {
    const subscription = new FakeSubscription(table, view, viewer);
    this.subscriptions.push(subscription);
    return subscription;
  }

  request(path: string): Promise<Response> {
    this.requests.push(path);
    return this.answer();
  }

  reconnect(): void {
    this.reconnects++;
  }

  dispose(): void {
    this.disposed = true;
  }

  /** The newest subscription. */
  get last(): FakeSubscription {
    const last = this.subscriptions.at(-1);
    if (!last) throw new Error('There is no subscription.');
    return last;
  }
}

export class FakeSubscription implements Subscription {
  page: Page | null = null;
  disposed = false;
  readonly views: View[];

  constructor(
    readonly table: string,
    view: View,
    private readonly viewer: Viewer,
  ) {
    this.views = [view];
  }

  view(view: View): void {
    this.views.push(view);
  }

  dispose(): void {
    this.disposed = true;
  }

  /** The last view that was requested. */
  get asked(): View {
    return this.views.at(-1) as View;
  }

  /** Sends a page that answers the last view, unless `page` has another one. */
  send(page: Partial<Page> & { columns: readonly Column[]; rows: readonly Row[] }, change?: Change): void {
    const before = this.page;
    this.page = {
      table: this.table,
      generation: 1,
      publication: 1,
      version: (before?.version ?? 0) + 1,
      total: (this.asked.offset ?? 0) + page.rows.length,
      offset: this.asked.offset ?? 0,
      missing: [],
      view: this.asked,
      ...page,
    };
    const swapped = before !== null && before.generation !== this.page.generation;
    this.viewer.page(this.page, change ?? { kind: 'page', swapped });
  }

  refuse(reason: Refusal): void {
    this.viewer.refused?.(reason);
  }

  wait(): void {
    this.viewer.waiting?.();
  }
}
