import {
  DestroyRef,
  type EnvironmentProviders,
  Injectable,
  InjectionToken,
  inject,
  makeEnvironmentProviders,
  type Signal,
  signal,
} from '@angular/core';
import {
  type ClientOptions,
  type Connection,
  EvertableClient,
  type Page,
  type Subscription,
  type View,
  type Viewer,
} from '@evertable/client';
import { type Observable, ReplaySubject } from 'rxjs';

/** The part of `EvertableClient` that the library uses; tests provide their own. */
export type LiveClient = Pick<
  EvertableClient,
  'connection' | 'onConnection' | 'subscribe' | 'request' | 'reconnect' | 'dispose'
>;

/** The client of the application. */
export const EVERTABLE_CLIENT = new InjectionToken<LiveClient>('EVERTABLE_CLIENT');

/** The rows of a table as objects, for applications with their own table component. */
export interface TableStream {
  /** Emits all rows at every change, and the last ones to late subscribers. Completes with `dispose()`. */
  readonly rows$: Observable<object[]>;
  dispose(): void;
}

/** Live tables for an Angular application, over one socket. */
@Injectable()
export class Evertable {
  private readonly client = inject(EVERTABLE_CLIENT);
  private readonly state = signal<Connection>(this.client.connection);

  /** The state of the connection. */
  readonly connection: Signal<Connection> = this.state.asReadonly();

  constructor() {
    const stop = this.client.onConnection((connection) => this.state.set(connection));
    inject(DestroyRef).onDestroy(() => {
      stop();
      this.client.dispose();
    });
  }

  /** Follows a table name across swaps and reconnects. */
  subscribe(table: string, view: View, viewer: Viewer): Subscription {
    return this.client.subscribe(table, view, viewer);
  }

  /** Sends an HTTP request with the token, such as `request('api/status')`. */
  request(path: string, init?: RequestInit): Promise<Response> {
    return this.client.request(path, init);
  }

  /** Reconnects at once, after a refusal or on a user's request. */
  reconnect(): void {
    this.client.reconnect();
  }

  /** Streams the first `maxRows` rows of a table as objects, until `dispose()` or the end of the application. */
  streamTable(name: string, maxRows = 1000): TableStream {
    return streamOf((view, viewer) => this.client.subscribe(name, view, viewer), maxRows);
  }
}

/** Provides one client for the whole application: `bootstrapApplication(App, { providers: [provideEvertable({ … })] })`. */
export function provideEvertable(options: ClientOptions = {}): EnvironmentProviders {
  return makeEnvironmentProviders([
    { provide: EVERTABLE_CLIENT, useFactory: () => new EvertableClient(options) },
    Evertable,
  ]);
}

/** Returns the table for a set of entities: users only, accounts only, or both joined. */
export function entityTable(entities: readonly string[]): string {
  const kinds = new Set(entities.map((entity) => entity.trim().toLowerCase().replace(/s$/, '')));
  const only = kinds.size === 1 ? [...kinds][0] : undefined;
  if (only === 'user') return 'users_ui';
  if (only === 'account') return 'accounts_ui';
  return 'final_ui';
}

/** Turns pages into lists of objects. A row that does not change stays the same object. */
function streamOf(subscribe: (view: View, viewer: Viewer) => Subscription, maxRows: number): TableStream {
  const rows$ = new ReplaySubject<object[]>(1);
  let names = '';
  let known = new Map<Page['rows'][number], object>();

  const subscription = subscribe(
    { limit: maxRows },
    {
      page({ columns, rows }) {
        const now = JSON.stringify(columns.map((column) => column.name));
        const before = now === names ? known : new Map<Page['rows'][number], object>();
        names = now;
        known = new Map(
          rows.map((row) => [
            row,
            before.get(row) ?? Object.fromEntries(columns.map((column, index) => [column.name, row[index]])),
          ]),
        );
        rows$.next(rows.map((row) => known.get(row) as object));
      },
      refused(reason) {
        rows$.error(reason);
        queueMicrotask(() => subscription.dispose()); // `subscription` may not be assigned yet
      },
    },
  );
  return {
    rows$: rows$.asObservable(),
    dispose() {
      subscription.dispose();
      rows$.complete();
    },
  };
}
