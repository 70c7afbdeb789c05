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
  type Subscription,
  type View,
  type Viewer,
} from '@evertable/client';
import type { Observable } from 'rxjs';
import { streamOf } from './stream.js';

/** What the library needs of `EvertableClient`; tests bring their own. */
export type LiveClient = Pick<
  EvertableClient,
  'connection' | 'onConnection' | 'subscribe' | 'request' | 'reconnect' | 'dispose'
>;

/** The one client of an application. */
export const EVERTABLE_CLIENT = new InjectionToken<LiveClient>('EVERTABLE_CLIENT');

/** The rows of a table as objects, for people who bring their own table. */
export interface TableStream {
  /** All rows, anew at every change; kept for those who come later. Completes with `dispose()`. */
  readonly rows$: Observable<object[]>;
  dispose(): void;
}

/** Live tables for an Angular application, over one socket. */
@Injectable()
export class Evertable {
  private readonly client = inject(EVERTABLE_CLIENT);
  private readonly state = signal<Connection>(this.client.connection);

  /** How the connection is. */
  readonly connection: Signal<Connection> = this.state.asReadonly();

  constructor() {
    const stop = this.client.onConnection((connection) => this.state.set(connection));
    inject(DestroyRef).onDestroy(() => {
      stop();
      this.client.dispose();
    });
  }

  /** Follows a table name, over any number of swaps and sockets. */
  subscribe(table: string, view: View, viewer: Viewer): Subscription {
    return this.client.subscribe(table, view, viewer);
  }

  /** An HTTP request with the token, such as `request('api/status')`. */
  request(path: string, init?: RequestInit): Promise<Response> {
    return this.client.request(path, init);
  }

  /** Tries again at once, after a refusal or when a person asks. */
  reconnect(): void {
    this.client.reconnect();
  }

  /** The first `maxRows` rows of a table as objects. `dispose()` ends it; the end of the application does, too. */
  streamTable(name: string, maxRows = 1000): TableStream {
    return streamOf((view, viewer) => this.client.subscribe(name, view, viewer), maxRows);
  }
}

/** One client for the whole application: `bootstrapApplication(App, { providers: [provideEvertable({ … })] })`. */
export function provideEvertable(options: ClientOptions = {}): EnvironmentProviders {
  return makeEnvironmentProviders([
    { provide: EVERTABLE_CLIENT, useFactory: () => new EvertableClient(options) },
    Evertable,
  ]);
}
