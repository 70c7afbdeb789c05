import type { Provider } from '@angular/core';
import { EVERTABLE_CLIENT, Evertable, type LiveClient } from '@evertable/angular';
import {
  type Connection,
  type Page,
  type Refusal,
  RequestRefused,
  type Value,
  type View,
  type Viewer,
} from '@evertable/client';
import { Session } from '../session/session';

interface FakeSubscription {
  readonly table: string;
  readonly viewer: Viewer;
  view: View;
  page: Page | null;
}

interface Posted {
  readonly path: string;
  readonly body: unknown;
}

/** A client whose answers and rows the test sets. */
export class FakeClient implements LiveClient {
  connection: Connection = { state: 'live', since: 0, attempts: 0, retryAt: null, reason: null };
  readonly subscriptions: FakeSubscription[] = [];
  readonly posted: Posted[] = [];
  readonly answers = new Map<string, unknown>();
  reconnects = 0;
  private readonly listeners: ((connection: Connection) => void)[] = [];

  onConnection(call: (connection: Connection) => void): () => void {
    this.listeners.push(call);
    call(this.connection);
    return () => this.listeners.splice(this.listeners.indexOf(call), 1);
  }

  become(state: Connection['state'], reason: Refusal | null = null): void {
    this.connection = { ...this.connection, state, reason };
    for (const call of this.listeners) call(this.connection);
  }

  subscribe(table: string, view: View, viewer: Viewer) {
    const subscription: FakeSubscription = { table, view, viewer, page: null };
    this.subscriptions.push(subscription);
    return {
      table,
      get page() {
        return subscription.page;
      },
      view: (next: View) => {
        subscription.view = next;
      },
      dispose: () => {
        const place = this.subscriptions.indexOf(subscription);
        if (place >= 0) this.subscriptions.splice(place, 1);
      },
    };
  }

  /** Sends these rows and the total to all subscriptions to the table. */
  show(table: string, rows: readonly Readonly<Record<string, Value>>[], total = rows.length): void {
    const columns = Object.keys(rows[0] ?? {}).map((name) => ({ name, type: 'string' }));
    for (const subscription of this.subscriptions.filter((one) => one.table === table)) {
      const shown = rows.slice(0, subscription.view.limit ?? 100).map((row) => Object.values(row));
      subscription.page = {
        ...{ table, generation: 1, publication: 1, version: 1, total, offset: 0, columns, rows: shown },
        ...{ missing: [], view: subscription.view },
      };
      subscription.viewer.page(subscription.page, { kind: 'page', swapped: false });
    }
  }

  async request(path: string, init?: RequestInit): Promise<Response> {
    if (init?.method === 'POST') this.posted.push({ path, body: JSON.parse(String(init.body)) });
    const answer = this.answers.get(path);
    if (answer === undefined)
      throw new RequestRefused({ condition: 'NOT_FOUND', message: path, status: 404 });
    if (answer instanceof RequestRefused) throw answer;
    return new Response(JSON.stringify(answer));
  }

  reconnect(): void {
    this.reconnects++;
  }

  dispose(): void {
    this.subscriptions.length = 0;
  }
}

/** Returns the providers that the page's components need. */
export function provideFake(client: FakeClient): Provider[] {
  return [
    { provide: EVERTABLE_CLIENT, useValue: client },
    Evertable,
    { provide: Session, useFactory: () => new Session(window) },
  ];
}
