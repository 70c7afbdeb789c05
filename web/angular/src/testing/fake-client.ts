import {
  type Change,
  type Column,
  type Connection,
  type Page,
  type Refusal,
  RequestRefused,
  type Row,
  type Subscription,
  type Value,
  type View,
  type Viewer,
} from '@evertable/client';
import type { LiveClient } from '../index.js';

/** A client whose answers and rows the test sets, and which records its calls. */
export class FakeClient implements LiveClient {
  connection: Connection = { state: 'connecting', since: 0, attempts: 0, retryAt: null, reason: null };
  readonly subscriptions: FakeSubscription[] = [];
  readonly requests: string[] = [];
  readonly posted: { readonly path: string; readonly body: unknown }[] = [];
  /** Bodies of responses, or errors, by path. */
  readonly answers = new Map<string, unknown>();
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

  async request(path: string, init?: RequestInit): Promise<Response> {
    this.requests.push(path);
    if (init?.method === 'POST') this.posted.push({ path, body: JSON.parse(String(init.body)) });
    const answer = this.answers.get(path);
    if (answer === undefined)
      throw new RequestRefused({ condition: 'NOT_FOUND', message: path, status: 404 });
    if (answer instanceof Error) throw answer;
    return new Response(JSON.stringify(answer));
  }

  reconnect(): void {
    this.reconnects++;
  }

  dispose(): void {
    this.disposed = true;
  }

  get active(): FakeSubscription[] {
    return this.subscriptions.filter(({ disposed }) => !disposed);
  }

  /** Sends these rows and the total to all subscriptions to the table. */
  show(table: string, rows: readonly Readonly<Record<string, Value>>[], total = rows.length): void {
    const columns = Object.keys(rows[0] ?? {}).map((name) => ({ name, type: 'string' }));
    for (const subscription of this.active.filter((one) => one.table === table)) {
      const shown = rows.slice(0, subscription.current.limit ?? 100).map((row) => Object.values(row));
      subscription.send({ columns, rows: shown, total });
    }
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
  get current(): View {
    return this.views.at(-1) as View;
  }

  /** Sends a page of the last view, unless `page` has another one. */
  send(page: Partial<Page> & { columns: readonly Column[]; rows: readonly Row[] }, change?: Change): void {
    const before = this.page;
    this.page = {
      table: this.table,
      generation: 1,
      publication: 1,
      version: (before?.version ?? 0) + 1,
      total: (this.current.offset ?? 0) + page.rows.length,
      offset: this.current.offset ?? 0,
      missing: [],
      view: this.current,
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
