/** The words of the client: what it is given, and what it tells. `docs/PROTOCOL.md` has the frames behind them. */

export type ConnectionState = 'connecting' | 'live' | 'stale' | 'reconnecting' | 'refused' | 'disposed';

/** How the connection is, for people and programs. */
export interface Connection {
  readonly state: ConnectionState;
  /** When it came to this state, in milliseconds since 1970. */
  readonly since: number;
  /** Failed attempts since it was last live. */
  readonly attempts: number;
  /** When the next attempt is due, in milliseconds since 1970; null if none is. */
  readonly retryAt: number | null;
  /** Why it is refused, or why the last attempt failed. */
  readonly reason: Refusal | null;
}

/** What the server said no to; `condition` is stable, `message` is for people. */
export interface Refusal {
  readonly condition: string;
  readonly message: string;
  /** The HTTP status, where there was one. */
  readonly status?: number;
  /** With `FILTER_INVALID`: the character at which the filter cannot be read, from 0. */
  readonly position?: number;
}

/** Which part of a table is looked at; what is not said is the default. */
export interface View {
  readonly columns?: readonly string[] | null;
  /** Names, `-` before one for descending. */
  readonly sort?: readonly string[];
  readonly filter?: string;
  readonly offset?: number;
  readonly limit?: number;
  readonly newestFirst?: boolean;
}

export interface Column {
  readonly name: string;
  /** As in PROTOCOL.md: string, boolean, int, long, float, double, decimal(p,s), date, timestamp, json. */
  readonly type: string;
}

export type Value = string | number | boolean | null;
export type Row = readonly Value[];

/** The rows of a view at one moment, all of one generation. Never changed in place: each frame makes a new one. */
export interface Page {
  readonly table: string;
  readonly generation: number;
  readonly publication: number;
  readonly version: number;
  readonly total: number;
  readonly offset: number;
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  /** Columns that the view names and that a swap took away. */
  readonly missing: readonly string[];
  /** The view that this page answers, as it was given. */
  readonly view: View;
}

/** What was different about a page, so that a viewer changes only that. */
export type Change =
  | { readonly kind: 'page'; readonly swapped: boolean }
  | {
      readonly kind: 'patch';
      /** `[at, remove, rows]` in turn, as `Array.splice` does. */
      readonly splices: readonly (readonly [number, number, readonly Row[]])[];
      /** `[row, column]` of cells that changed in place, after the splices. */
      readonly cells: readonly (readonly [number, number])[];
    }
  | { readonly kind: 'total' };

/** Hears of one subscription. Nothing is called after `dispose()`. */
export interface Viewer {
  /** `swapped`: the page is of another generation than the one before. */
  page(page: Page, change: Change): void;
  /** The name is known, and no generation is live yet. */
  waiting?(): void;
  /** The view cannot be shown; the one before goes on, if there was one. Any later good view clears it. */
  refused?(reason: Refusal): void;
}

/** One table name with one view, over any number of swaps and sockets. */
export interface Subscription {
  readonly table: string;
  /** The last page; null before the first. */
  readonly page: Page | null;
  /** Looks at another part; no page of the old view follows one of the new. */
  view(view: View): void;
  dispose(): void;
}

/** A token, or who is asked for one before each attempt (so that a fresh one can be fetched). */
export type Token = string | null | (() => string | null | Promise<string | null>);

export interface ClientOptions {
  /** The server's address, such as `https://tables.example` (a path is kept as a prefix); the page's own if not said. */
  readonly url?: string | URL;
  readonly token?: Token;
  /** What the world is made of; tests bring their own. */
  readonly surroundings?: Partial<Surroundings>;
}

/** Everything the client takes from the browser. */
export interface Surroundings {
  socket(url: string, protocols: string[]): WebSocket;
  fetch(input: string, init?: RequestInit): Promise<Response>;
  now(): number;
  random(): number;
  setTimeout(call: () => void, ms: number): unknown;
  clearTimeout(timer: unknown): void;
  /** Calls back when the tab becomes visible or the network returns; returns how to stop that. */
  onReturn(call: () => void): () => void;
}
