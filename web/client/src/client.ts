import type { ClientOptions, Connection, Subscription, View, Viewer } from './types';

/** Live tables over one socket that heals itself. */
export class EvertableClient {
  constructor(readonly options: ClientOptions = {}) {}

  /** How the connection is now. */
  get connection(): Connection {
    throw new Error('not yet');
  }

  /** Calls back at once and at every change; returns how to stop that. */
  onConnection(_call: (connection: Connection) => void): () => void {
    throw new Error('not yet');
  }

  /** Follows a table name. The first subscription opens the socket. */
  subscribe(_table: string, _view: View, _viewer: Viewer): Subscription {
    throw new Error('not yet');
  }

  /** An HTTP request with the token, such as `request('api/status')`; refusals are rejected as `RequestRefused`. */
  request(_path: string, _init?: RequestInit): Promise<Response> {
    throw new Error('not yet');
  }

  /** Tries again at once: after a refusal, with a new token, or when a person asks. */
  reconnect(): void {}

  /** Ends all subscriptions, timers and listeners, and the socket. */
  dispose(): void {}
}
