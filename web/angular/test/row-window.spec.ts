import { describe, expect, it } from 'vitest';
import { holds, RowWindow } from '../src/row-window';

const place = (window: RowWindow) => [window.offset, window.limit];

describe('RowWindow', () => {
  it('starts at the given row, and stays while the screen is well inside', () => {
    const window = new RowWindow(300);
    expect(window.cover(0, 29, 1e6)).toBe(false);
    expect(window.cover(150, 179, 1e6)).toBe(false);
    expect(place(window)).toEqual([0, 300]);
    expect(new RowWindow(300, 1200).offset).toBe(1200);
    expect(new RowWindow(300, -5).offset).toBe(0);
  });

  it('moves before the screen reaches its edge, and centers on the screen', () => {
    const window = new RowWindow(300);
    expect(window.cover(210, 239, 1e6)).toBe(true);
    expect(place(window)).toEqual([75, 300]);
    expect(window.cover(210, 239, 1e6)).toBe(false);
    expect(window.cover(100, 129, 1e6)).toBe(true);
    expect(place(window)).toEqual([0, 300]);
  });

  it('follows a jump and the way back', () => {
    const window = new RowWindow(300);
    expect(window.cover(999_970, 999_999, 1e6)).toBe(true);
    expect(place(window)).toEqual([999_835, 300]);
    expect(window.cover(0, 29, 1e6)).toBe(true);
    expect(window.offset).toBe(0);
  });

  it('reaches beyond the end, so that appended rows are inside', () => {
    const window = new RowWindow(300);
    window.cover(9970, 9999, 10_000);
    const { offset } = window;
    for (let total = 10_001; total < 10_060; total++) {
      expect(window.cover(9970, 9999, total)).toBe(false);
    }
    expect(window.offset).toBe(offset);
  });

  it('grows if the screen shows more than a page', () => {
    const window = new RowWindow(10);
    expect(window.cover(0, 49, 1000)).toBe(true);
    expect(place(window)).toEqual([0, 100]);
    expect(window.cover(0, 49, 1000)).toBe(false);
    expect(window.cover(0, 4, 1000)).toBe(true);
    expect(window.limit).toBe(10);
  });

  it('contains every row of the screen after each move', () => {
    const window = new RowWindow(120);
    const total = 5000;
    for (let first = 0; first < total; first += 37) {
      const last = Math.min(first + 44, total - 1);
      window.cover(first, last, total);
      expect(window.offset).toBeLessThanOrEqual(first);
      expect(window.offset + window.limit).toBeGreaterThan(last);
    }
  });
});

describe('holds', () => {
  const page = { offset: 100, total: 1000, rows: { length: 50 } };

  it('knows which rows a page has', () => {
    expect(holds(page, 100, 149)).toBe(true);
    expect(holds(page, 99, 120)).toBe(false);
    expect(holds(page, 120, 150)).toBe(false);
  });

  it('ignores rows that the table does not have', () => {
    expect(holds({ offset: 0, total: 5, rows: { length: 5 } }, 0, 29)).toBe(true);
    expect(holds({ offset: 0, total: 0, rows: { length: 0 } }, 0, 29)).toBe(true);
    expect(holds({ offset: 500, total: 5, rows: { length: 0 } }, 0, 4)).toBe(false);
  });
});
