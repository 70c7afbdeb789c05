/** The public types of the client. `docs/PROTOCOL.md` describes the frames behind them. */

export type ConnectionState = 'connecting' | 'live' | 'stale' | 'reconnecting' | 'refused' | 'disposed';

/** The state of the connection. */
export interface Connection {
  readonly state: ConnectionState;
  /** When it entered this state, in milliseconds since 1970. */
  readonly since: number;
  /** Failed attempts since it was last live. */
  readonly attempts: number;
  /** When the next attempt is due, in milliseconds since 1970; null if none is scheduled. */
  readonly retryAt: number | null;
  /** Why it is refused, or why the last attempt failed. */
  readonly reason: Refusal | null;
}

/** Why something was refused; `condition` is stable, `message` is for people. */
export interface Refusal {
  readonly condition: string;
  readonly message: string;
  /** The HTTP status, if there was one. */
  readonly status?: number;
  /** The position of the error in the filter, from 0, for `FILTER_INVALID`. */
  readonly position?: number;
}

/** Which part of a table to show; missing fields have their defaults. */
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

/** The rows of a view at one moment, all of one generation. Never changed in place: each frame creates a new page. */
export interface Page {
  readonly table: string;
  readonly generation: number;
  readonly publication: number;
  readonly version: number;
  readonly total: number;
  readonly offset: number;
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  /** Columns that the view names and that a swap removed. */
  readonly missing: readonly string[];
  /** The view that this page answers, as it was passed. */
  readonly view: View;
}

/** What changed in a page, so that a viewer updates only that. */
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

/** Receives the pages of one subscription. Nothing is called after `dispose()`. */
export interface Viewer {
  /** A new page. `swapped`: its generation differs from that of the page before. */
  page(page: Page, change: Change): void;
  /** The name is known, and no generation is live yet. */
  waiting?(): void;
  /** The view cannot be shown; the one before continues, if there was one. The next page clears the refusal. */
  refused?(reason: Refusal): void;
}

/** One table name with one view, over any number of swaps and sockets. */
export interface Subscription {
  readonly table: string;
  /** The last page; null before the first. */
  readonly page: Page | null;
  /** Shows another part; no page of the old view follows one of the new. */
  view(view: View): void;
  dispose(): void;
}

/** A token, or a function that is called before each attempt and can fetch a fresh one. */
export type Token = string | null | (() => string | null | Promise<string | null>);

export interface ClientOptions {
  /** The server's address, such as `https://tables.example` (a path is kept as a prefix); default: the page's own. */
  readonly url?: string | URL;
  readonly token?: Token;
  /** Replaces browser functions, for tests. */
  readonly platform?: Partial<Platform>;
}

/** The browser functions that the client uses. */
export interface Platform {
  socket(url: string, protocols: string[]): WebSocket;
  fetch(input: string, init?: RequestInit): Promise<Response>;
  now(): number;
  random(): number;
  setTimeout(call: () => void, ms: number): unknown;
  clearTimeout(timer: unknown): void;
  /** Calls back when the tab becomes visible or the network returns; returns a function that stops it. */
  onReturn(call: () => void): () => void;
}
