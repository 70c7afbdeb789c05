/** Applies patches to pages without changing them: rows that do not change stay the same objects. */

import { type Cell, isRow, type PatchFrame, type Splice } from './frames.js';
import type { Change, Page, Row, Value } from './types.js';

/** Returns the rows after a patch; null if it does not fit them. */
export function patched(page: Page, patch: PatchFrame): readonly Row[] | null {
  const rows = spliced(page.rows, patch.splice ?? [], page.columns.length);
  return rows && replaced(rows, patch.cells ?? []);
}

/** Returns the change that a patch makes, for viewers. */
export function changeOf(patch: PatchFrame): Change {
  const cells = (patch.cells ?? []).map(([row, column]) => [row, column] as const);
  return { kind: 'patch', splices: patch.splice ?? [], cells };
}

function spliced(from: readonly Row[], splices: readonly Splice[], width: number): readonly Row[] | null {
  let rows = from;
  for (const splice of splices) {
    if (!Array.isArray(splice)) return null;
    const [at, remove, put] = splice as Splice;
    if (!within(at, rows.length + 1) || !within(remove, rows.length - at + 1)) return null;
    if (!Array.isArray(put) || !put.every((row) => isRow(row, width))) return null;
    rows = [...rows.slice(0, at), ...put, ...rows.slice(at + remove)];
  }
  return rows;
}

function replaced(from: readonly Row[], cells: readonly Cell[]): readonly Row[] | null {
  if (!cells.length) return from;
  const rows = [...from];
  for (const cell of cells) {
    if (!Array.isArray(cell)) return null;
    const [at, column, value] = cell as Cell;
    const row: Value[] = [...(rows[at] ?? [])];
    if (!within(at, rows.length) || !within(column, row.length)) return null;
    row[column] = value;
    rows[at] = row;
  }
  return rows;
}

function within(index: number, end: number): boolean {
  return Number.isInteger(index) && index >= 0 && index < end;
}
