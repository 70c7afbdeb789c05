/** A range of rows, including both ends. */
export interface RowRange {
  readonly first: number;
  readonly last: number;
}

/**
 * The rows to request, so that they include those on screen and a little scrolling needs no new page.
 *
 *     offset ──┐ margin ┌── on screen ──┐ margin ┌── offset + limit
 *
 * It moves only when the screen comes within a margin of its edge, and then centers on the screen. At the end of the
 * table it reaches beyond the end, so that appended rows fall inside.
 */
export class RowWindow {
  private start: number;
  private size: number;

  private readonly pageSize: number;

  constructor(pageSize: number, start = 0) {
    this.pageSize = Math.max(1, Math.floor(pageSize) || 1);
    this.start = Math.max(0, Math.floor(start) || 0);
    this.size = this.pageSize;
  }

  get offset(): number {
    return this.start;
  }

  get limit(): number {
    return this.size;
  }

  /** Moves or resizes the window to cover the rows from `first` to `last`; returns whether it changed. */
  cover(first: number, last: number, total: number): boolean {
    const visible = Math.max(1, last - first + 1);
    const size = Math.max(this.pageSize, 2 * visible);
    const spare = size - visible;
    const margin = Math.floor(spare / 4);
    const above = this.start > 0 && first < this.start + margin;
    const below = this.start + size < total && last >= this.start + size - margin;
    if (size === this.size && !above && !below) return false;

    const start = above || below ? Math.max(0, first - Math.floor(spare / 2)) : this.start;
    const moved = start !== this.start || size !== this.size;
    this.start = start;
    this.size = size;
    return moved;
  }

  /** Moves the window to a row. */
  reset(start = 0): void {
    this.start = start;
  }
}

/** Whether a page has all existing rows from `first` to `last`. */
export function holds(
  page: { offset: number; total: number; rows: { length: number } },
  first: number,
  last: number,
): boolean {
  const end = Math.min(last, page.total - 1);
  const begin = Math.min(first, Math.max(0, end));
  return end < begin || (page.offset <= begin && end < page.offset + page.rows.length);
}
