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

interface Following {
  readonly table: string;
  readonly viewer: Viewer;
  view: View;
  page: Page | null;
}

interface Posted {
  readonly path: string;
  readonly body: unknown;
}

/** A server as a test wants it: answers what it was told to, and shows the rows it was given. */
export class FakeClient implements LiveClient {
  connection: Connection = { state: 'live', since: 0, attempts: 0, retryAt: null, reason: null };
  readonly following: Following[] = [];
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
    const following: Following = { table, view, viewer, page: null };
    this.following.push(following);
    return {
      table,
      get page() {
        return following.page;
      },
      view: (next: View) => {
        following.view = next;
      },
      dispose: () => {
        const place = this.following.indexOf(following);
        if (place >= 0) this.following.splice(place, 1);
      },
    };
  }

  /** Shows these rows to all who follow the table, with its size. */
  show(table: string, rows: readonly Readonly<Record<string, Value>>[], total = rows.length): void {
    const columns = Object.keys(rows[0] ?? {}).map((name) => ({ name, type: 'string' }));
    for (const following of this.following.filter((one) => one.table === table)) {
      const shown = rows.slice(0, following.view.limit ?? 100).map((row) => Object.values(row));
      following.page = {
        ...{ table, generation: 1, publication: 1, version: 1, total, offset: 0, columns, rows: shown },
        ...{ missing: [], view: following.view },
      };
      following.viewer.page(following.page, { kind: 'page', swapped: false });
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
    this.following.length = 0;
  }
}

/** What a component needs of the world. */
export function provideFake(client: FakeClient): Provider[] {
  return [
    { provide: EVERTABLE_CLIENT, useValue: client },
    Evertable,
    { provide: Session, useFactory: () => new Session(window) },
  ];
}
