import { countIn, keep, rateBetween, type Sample, sampleOf, WINDOW_MS } from './samples';
import { area, ceiling, runs, stroke } from './scale';

describe('samples of the flow', () => {
  const told = (rows: number, generation = 1) => ({ orchestrator: { rows, generation } });

  it('make a rate of two counts', () => {
    expect(rateBetween(countIn(told(100), 1_000), countIn(told(150), 3_000))).toBe(25);
    expect(rateBetween(countIn(told(150), 1_000), countIn(told(100), 3_000))).toBe(0);
  });

  it('make none over a swap, of one count, or of no time', () => {
    expect(rateBetween(countIn(told(9, 1), 0), countIn(told(500, 2), 1_000))).toBeNull();
    expect(rateBetween(null, countIn(told(5), 1_000))).toBeNull();
    expect(rateBetween(countIn(told(5), 1_000), countIn(told(6), 1_000))).toBeNull();
  });

  it('take the rate that the server tells, where it does', () => {
    const sample = sampleOf({ ...told(9), flow: { rows_per_s: 3.5, data_age_s: 0.2 } }, 5, null);
    expect(sample).toEqual({ at: 5, rate: 3.5, age: 0.2 });
    expect(sampleOf({ orchestrator: null, flow: { rows_per_s: 'x' } }, 5, null)).toEqual({
      at: 5,
      rate: null,
      age: null,
    });
  });

  it('are kept for as long as they are drawn', () => {
    const at = (moment: number): Sample => ({ at: moment, rate: 1, age: 1 });
    expect(keep([at(0), at(1_000)], at(WINDOW_MS)).map((one) => one.at)).toEqual([1_000, WINDOW_MS]);
  });
});

describe('the scale of a chart', () => {
  const chart = { width: 100, height: 50, top: 10, windowMs: 10_000, gapMs: 3_000 };

  it('ends at a round number that all values fit under', () => {
    expect([0, 0.4, 1, 1.1, 3, 7, 10, 42, 1_001].map((value) => ceiling(value))).toEqual([
      1, 1, 1, 2, 5, 10, 10, 50, 2_000,
    ]);
    expect(ceiling(Number.NaN)).toBe(1);
  });

  it('has the newest at the right edge, and what is too high at the top', () => {
    const points = [
      { at: 8_000, value: 5 },
      { at: 10_000, value: 99 },
    ];
    expect(runs(points, chart)).toEqual([
      [
        [80, 25],
        [100, 0],
      ],
    ]);
  });

  it('breaks where nothing was measured', () => {
    const points = [0, 2_000, 8_000].map((at) => ({ at, value: 0 }));
    expect(runs(points, chart).map((line) => line.length)).toEqual([2, 1]);
  });

  it('draws lines, closes areas and shows a lone point', () => {
    const line = [
      [0, 10],
      [5, 8],
    ] as const;
    expect(stroke([line])).toBe('M0,10 L5,8');
    expect(area([line, [[9, 9]]], 50)).toBe('M0,10 L5,8 L5,50 L0,50 Z');
    expect(stroke([[[9, 9]]])).toBe('M8,9 L9,9');
    expect(stroke(runs([], chart))).toBe('');
  });
});
