/** Frames of `docs/PROTOCOL.md`, validated so that nothing malformed gets further. */

import type { Column, Refusal, Row, Value, View } from './types.js';

export const SUBPROTOCOL = 'evertable.v1';

/** Frames that the client sends. */
export type Request =
  | { type: 'subscribe'; id: string; table: string; tag: number; view: View }
  | { type: 'view'; id: string; tag: number; view: View }
  | { type: 'unsubscribe'; id: string }
  | { type: 'ping'; tag: number };

/** Orders the pages of a subscription, on one socket. */
export interface Stamp {
  readonly publication: number;
  readonly version: number;
}

interface Framed<Type extends string> {
  readonly type: Type;
  readonly id: string;
  readonly tag: number;
}

interface Stamped<Type extends string> extends Framed<Type>, Stamp {
  readonly generation: number;
  readonly total: number;
}

export type Splice = readonly [at: number, remove: number, rows: readonly Row[]];
export type Cell = readonly [row: number, column: number, value: Value];

export interface PageFrame extends Stamped<'page'> {
  readonly table: string;
  readonly offset: number;
  readonly columns: readonly Column[];
  readonly rows: readonly Row[];
  readonly missing?: readonly string[];
}

export interface PatchFrame extends Stamped<'patch'> {
  readonly offset: number;
  readonly splice?: readonly Splice[];
  readonly cells?: readonly Cell[];
}

export type TotalFrame = Stamped<'total'>;
export type ErrorFrame = Framed<'error'> & Refusal;

/** Frames about one subscription. */
export type SubscriptionFrame = PageFrame | PatchFrame | TotalFrame | Framed<'waiting'> | ErrorFrame;

/** Any other frame (`welcome`, `pong`, or a type of newer servers) only shows that the server responds. */
export type Frame = SubscriptionFrame | { readonly type: 'other' };

const STAMP = ['generation', 'publication', 'version', 'total'];
const NUMBERS: Readonly<Record<string, readonly string[]>> = {
  page: [...STAMP, 'offset'],
  patch: [...STAMP, 'offset'],
  total: STAMP,
  waiting: [],
  error: [],
};

/** Returns the frame in a message; throws if it is malformed. */
export function read(data: unknown): Frame {
  if (typeof data !== 'string') throw new Error('it is binary');
  const frame = JSON.parse(data);
  const type = frame?.type;
  if (typeof type !== 'string') throw new Error('it has no type');
  if (!Object.hasOwn(NUMBERS, type)) return { type: 'other' };
  check(typeof frame.id === 'string', type, 'id');
  for (const name of ['tag', ...(NUMBERS[type] ?? [])]) check(Number.isInteger(frame[name]), type, name);
  if (type === 'page') checkPage(frame);
  if (type === 'error') check(refusalIn(frame) !== null, type, 'condition');
  for (const name of ['splice', 'cells', 'missing']) check(isList(frame[name] ?? []), type, name);
  return frame;
}

/** Returns the refusal in a frame or an HTTP answer; null if there is none. */
export function refusalIn(body: unknown, status?: number): Refusal | null {
  const { condition, message, position } = (body ?? {}) as Record<string, unknown>;
  if (typeof condition !== 'string') return null;
  return {
    condition,
    message: String(message ?? ''),
    ...(status !== undefined && { status }),
    ...(Number.isInteger(position) && { position: position as number }),
  };
}

export function isRow(row: unknown, width: number): boolean {
  return isList(row) && row.length === width;
}

function checkPage({ columns, rows }: Record<string, unknown>): void {
  check(isList(columns) && columns.every((column) => typeof column?.name === 'string'), 'page', 'columns');
  const width = (columns as unknown[]).length;
  check(isList(rows) && rows.every((row) => isRow(row, width)), 'page', 'rows');
}

function check(holds: boolean, type: string, name: string): void {
  if (!holds) throw new Error(`'${name}' of a '${type}' is invalid`);
}

function isList(value: unknown): value is Record<string, unknown>[] {
  return Array.isArray(value);
}
