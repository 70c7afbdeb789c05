import { areaPath, ceiling, linesOf, strokePath } from './scale';

describe('the scale of a chart', () => {
  const chart = { width: 100, height: 50, top: 10, windowMs: 10_000, gapMs: 3_000 };

  it('ends at a round number that is not below any value', () => {
    expect([0, 0.4, 1, 1.1, 3, 7, 10, 42, 1_001].map((value) => ceiling(value))).toEqual([
      1, 1, 1, 2, 5, 10, 10, 50, 2_000,
    ]);
    expect(ceiling(Number.NaN)).toBe(1);
  });

  it('puts the newest point at the right edge, and clips high values at the top', () => {
    const points = [
      { at: 8_000, value: 5 },
      { at: 10_000, value: 99 },
    ];
    expect(linesOf(points, chart)).toEqual([
      [
        [80, 25],
        [100, 0],
      ],
    ]);
  });

  it('breaks at gaps', () => {
    const points = [0, 2_000, 8_000].map((at) => ({ at, value: 0 }));
    expect(linesOf(points, chart).map((line) => line.length)).toEqual([2, 1]);
  });

  it('draws lines, closes areas and shows a single point', () => {
    const line = [
      [0, 10],
      [5, 8],
    ] as const;
    expect(strokePath([line])).toBe('M0,10 L5,8');
    expect(areaPath([line, [[9, 9]]], 50)).toBe('M0,10 L5,8 L5,50 L0,50 Z');
    expect(strokePath([[[9, 9]]])).toBe('M8,9 L9,9');
    expect(strokePath(linesOf([], chart))).toBe('');
  });
});
