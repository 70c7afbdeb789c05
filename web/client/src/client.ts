import { Address } from './address.js';
import type { Frame, Request } from './frames.js';
import { requestToken, send } from './http.js';
import { browserPlatform, guarded, pageUrl } from './platform.js';
import { ReconnectingSocket } from './reconnecting-socket.js';
import { TableSubscription } from './subscription.js';
import { TokenSource } from './token-source.js';
import type { ClientOptions, Connection, Platform, Subscription, View, Viewer } from './types.js';

/** Live tables over one WebSocket that reconnects by itself. */
export class EvertableClient {
  readonly #platform: Platform;
  readonly #address: Address;
  readonly #tokens: TokenSource;
  readonly #socket: ReconnectingSocket;
  readonly #subscriptions = new Map<string, TableSubscription>();
  readonly #listeners = new Set<{ call: (connection: Connection) => void }>();
  #lastId = 0;
  #isDisposed = false;

  constructor(readonly options: ClientOptions = {}) {
    this.#platform = { ...browserPlatform(), ...options.platform };
    this.#address = new Address(options.url, pageUrl());
    this.#tokens = new TokenSource(options.token ?? null);
    this.#socket = new ReconnectingSocket(this.#platform, this.#address, this.#tokens, {
      opened: () => this.#forEach((subscription) => subscription.subscribe()),
      frame: (frame) => this.#receive(frame),
      changed: (connection) => this.#notify(connection),
    });
  }

  /** The state of the connection. */
  get connection(): Connection {
    return this.#socket.connection;
  }

  /** Calls back at once and at every change; returns a function that stops it. */
  onConnection(call: (connection: Connection) => void): () => void {
    this.#checkUsable();
    const listener = { call };
    this.#listeners.add(listener);
    guarded(() => call(this.connection));
    return () => this.#listeners.delete(listener);
  }

  /** Follows a table name. The first subscription opens the socket. */
  subscribe(table: string, view: View, viewer: Viewer): Subscription {
    this.#checkUsable();
    const send = (request: Request) => this.#socket.send(request);
    const ended = (subscription: TableSubscription) => this.#remove(subscription);
    const subscription = new TableSubscription(String(++this.#lastId), table, view, viewer, send, ended);
    this.#subscriptions.set(subscription.id, subscription);
    this.#socket.acquire();
    subscription.subscribe(); // sent again when the socket opens, if it is not open yet
    return subscription;
  }

  /** Sends an HTTP request with the token, such as `request('api/status')`; rejects with `RequestRefused`. */
  async request(path: string, init?: RequestInit): Promise<Response> {
    this.#checkUsable();
    const token = await requestToken(this.#tokens);
    this.#checkUsable();
    return send(this.#platform, this.#address, path, token, init);
  }

  /** Reconnects at once: after a refusal, with a new token, or on a user's request. */
  reconnect(): void {
    this.#checkUsable();
    this.#socket.reconnect();
  }

  /** Ends all subscriptions, timers and listeners, and the socket. May be called again. */
  dispose(): void {
    this.#isDisposed = true;
    this.#forEach((subscription) => subscription.dispose());
    this.#socket.dispose();
    this.#listeners.clear();
  }

  #receive(frame: Frame): void {
    if (frame.type !== 'other') this.#subscriptions.get(frame.id)?.receive(frame);
  }

  #remove(subscription: TableSubscription): void {
    this.#subscriptions.delete(subscription.id);
    if (this.#isDisposed) return;
    this.#socket.send({ type: 'unsubscribe', id: subscription.id });
    this.#forEach((other) => other.retry()); // the server has room for one more
    if (!this.#subscriptions.size) this.#socket.release();
  }

  #forEach(call: (subscription: TableSubscription) => void): void {
    for (const subscription of [...this.#subscriptions.values()]) call(subscription);
  }

  /** Stops when a listener has changed the connection, because the rest were notified of the newer state already. */
  #notify(connection: Connection): void {
    for (const { call } of [...this.#listeners]) {
      if (connection === this.connection) guarded(() => call(connection));
    }
  }

  #checkUsable(): void {
    if (this.#isDisposed) throw new Error('This EvertableClient was disposed; create another one.');
  }
}
