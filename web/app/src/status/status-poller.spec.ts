import { addSample, rateBetween, rowCountOf, type Sample, sampleOf, WINDOW_MS } from './status-poller';

describe('samples of the flow', () => {
  const status = (rows: number, generation = 1) => ({ orchestrator: { rows, generation } });

  it('have a rate between two counts', () => {
    expect(rateBetween(rowCountOf(status(100), 1_000), rowCountOf(status(150), 3_000))).toBe(25);
    expect(rateBetween(rowCountOf(status(150), 1_000), rowCountOf(status(100), 3_000))).toBe(0);
  });

  it('have no rate across a swap, from one count, or at the same moment', () => {
    expect(rateBetween(rowCountOf(status(9, 1), 0), rowCountOf(status(500, 2), 1_000))).toBeNull();
    expect(rateBetween(null, rowCountOf(status(5), 1_000))).toBeNull();
    expect(rateBetween(rowCountOf(status(5), 1_000), rowCountOf(status(6), 1_000))).toBeNull();
  });

  it('prefer the rate of the server', () => {
    const sample = sampleOf({ ...status(9), flow: { rows_per_s: 3.5, data_age_s: 0.2 } }, 5, null);
    expect(sample).toEqual({ at: 5, rate: 3.5, age: 0.2 });
    expect(sampleOf({ orchestrator: null, flow: { rows_per_s: 'x' } }, 5, null)).toEqual({
      at: 5,
      rate: null,
      age: null,
    });
  });

  it('are kept as long as they are drawn', () => {
    const at = (moment: number): Sample => ({ at: moment, rate: 1, age: 1 });
    expect(addSample([at(0), at(1_000)], at(WINDOW_MS)).map((one) => one.at)).toEqual([1_000, WINDOW_MS]);
  });
});
