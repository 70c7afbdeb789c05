import { Address } from './address.js';
import type { Frame, Request } from './frames.js';
import { send, tokenOf } from './http.js';
import { Lifeline } from './lifeline.js';
import { TableSubscription } from './subscription.js';
import { browser, guarded, pageAddress } from './surroundings.js';
import { Tokens } from './tokens.js';
import type { ClientOptions, Connection, Subscription, Surroundings, View, Viewer } from './types.js';

/** Live tables over one socket that heals itself. */
export class EvertableClient {
  readonly #world: Surroundings;
  readonly #address: Address;
  readonly #tokens: Tokens;
  readonly #lifeline: Lifeline;
  readonly #subscriptions = new Map<string, TableSubscription>();
  readonly #listeners = new Set<{ call: (connection: Connection) => void }>();
  #ids = 0;
  #disposed = false;

  constructor(readonly options: ClientOptions = {}) {
    this.#world = { ...browser(), ...options.surroundings };
    this.#address = new Address(options.url, pageAddress());
    this.#tokens = new Tokens(options.token ?? null);
    this.#lifeline = new Lifeline(this.#world, this.#address, this.#tokens, {
      attached: () => this.#each((subscription) => subscription.attach()),
      frame: (frame) => this.#take(frame),
      changed: (connection) => this.#tell(connection),
    });
  }

  /** How the connection is now. */
  get connection(): Connection {
    return this.#lifeline.connection;
  }

  /** Calls back at once and at every change; returns how to stop that. */
  onConnection(call: (connection: Connection) => void): () => void {
    this.#check();
    const listener = { call };
    this.#listeners.add(listener);
    guarded(() => call(this.connection));
    return () => this.#listeners.delete(listener);
  }

  /** Follows a table name. The first subscription opens the socket. */
  subscribe(table: string, view: View, viewer: Viewer): Subscription {
    this.#check();
    const send = (request: Request) => this.#lifeline.send(request);
    const left = (subscription: TableSubscription) => this.#leave(subscription);
    const subscription = new TableSubscription(String(++this.#ids), table, view, viewer, send, left);
    this.#subscriptions.set(subscription.id, subscription);
    this.#lifeline.need();
    subscription.attach(); // if there is no open socket yet, again when there is
    return subscription;
  }

  /** An HTTP request with the token, such as `request('api/status')`; refusals are rejected as `RequestRefused`. */
  async request(path: string, init?: RequestInit): Promise<Response> {
    this.#check();
    const token = await tokenOf(this.#tokens);
    this.#check();
    return send(this.#world, this.#address, path, token, init);
  }

  /** Tries again at once: after a refusal, with a new token, or when a person asks. */
  reconnect(): void {
    this.#check();
    this.#lifeline.reconnect();
  }

  /** Ends all subscriptions, timers and listeners, and the socket. May be called again. */
  dispose(): void {
    this.#disposed = true;
    this.#each((subscription) => subscription.dispose());
    this.#lifeline.dispose();
    this.#listeners.clear();
  }

  #take(frame: Frame): void {
    if (frame.type !== 'other') this.#subscriptions.get(frame.id)?.receive(frame);
  }

  #leave(subscription: TableSubscription): void {
    this.#subscriptions.delete(subscription.id);
    if (this.#disposed) return;
    this.#lifeline.send({ type: 'unsubscribe', id: subscription.id });
    this.#each((other) => other.retry()); // there is room for one more
    if (!this.#subscriptions.size) this.#lifeline.release();
  }

  #each(call: (subscription: TableSubscription) => void): void {
    for (const subscription of [...this.#subscriptions.values()]) call(subscription);
  }

  /** Those told earlier may have changed it again: then the rest has heard of the newer one already. */
  #tell(connection: Connection): void {
    for (const { call } of [...this.#listeners]) {
      if (connection === this.connection) guarded(() => call(connection));
    }
  }

  #check(): void {
    if (this.#disposed) throw new Error('This EvertableClient was disposed; make another one.');
  }
}
