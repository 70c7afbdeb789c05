import { describe, expect, it } from 'vitest';
import { patched } from '../src/patch';
import type { Page, Row, Value } from '../src/types';
import { FakePlatform, live, pageFrame, patchFrame } from './fake-platform';

const COLUMNS = [
  { name: 'a', type: 'long' },
  { name: 'b', type: 'string' },
  { name: 'c', type: 'double' },
];

function page(rows: Row[]): Page {
  const stamp = { generation: 1, publication: 1, version: 1 };
  return { table: 't', ...stamp, total: 0, offset: 0, columns: COLUMNS, rows, missing: [], view: {} };
}

function apply(rows: Row[], splice?: unknown, cells?: unknown): readonly Row[] | null {
  return patched(page(rows), patchFrame({ splice, cells }) as never);
}

/** Numbers that are the same in every run. */
function seeded(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 48_271) % 2_147_483_647;
    return state % below;
  };
}

const ROWS: Row[] = [
  [1, 'x', 1.5],
  [2, 'y', 2.5],
  [3, 'z', 3.5],
];

describe('a patch', () => {
  it('gives the same rows as a naive implementation, over random histories', () => {
    for (let seed = 1; seed <= 200; seed++) {
      const below = seeded(seed);
      const row = (): Value[] => [below(9), `text ${below(9)}`, null];
      let rows: readonly Row[] = [];
      let model: Value[][] = [];
      for (let step = 0; step < 30; step++) {
        const before = JSON.stringify(rows);
        const splices: [number, number, Value[][]][] = [];
        const cells: [number, number, Value][] = [];
        model = structuredClone(model);
        for (let count = below(4); count > 0; count--) {
          const at = below(model.length + 1);
          const put = Array.from({ length: below(4) }, row);
          splices.push([at, below(model.length - at + 1), put]);
          model.splice(at, splices.at(-1)?.[1] ?? 0, ...structuredClone(put));
        }
        for (let count = model.length ? below(4) : 0; count > 0; count--) {
          const [at, column] = [below(model.length), below(3)];
          cells.push([at, column, below(100)]);
          (model[at] as Value[])[column] = cells.at(-1)?.[2] ?? null;
        }
        const frame = JSON.stringify([splices, cells]);
        const next = apply(rows as Row[], splices, cells);
        expect(next, `seed ${seed}, step ${step}`).toEqual(model);
        expect(JSON.stringify(rows)).toBe(before);
        expect(JSON.stringify([splices, cells])).toBe(frame);
        rows = next ?? [];
      }
    }
  });

  it('keeps the objects of unchanged rows', () => {
    const after = apply(ROWS, [[0, 1, [[9, 'new', 0]]]], [[2, 0, 7]]) ?? [];
    expect(after[1]).toBe(ROWS[1]);
    expect(after[2]).not.toBe(ROWS[2]);
    expect(after).toEqual([[9, 'new', 0], ROWS[1], [7, 'z', 3.5]]);
    expect(ROWS[2]).toEqual([3, 'z', 3.5]);
  });

  it('may insert more rows than a call takes arguments', () => {
    const many = Array.from({ length: 300_000 }, (_, index): Row => [index, '', 0]);
    expect(apply([], [[0, 0, many]])).toHaveLength(300_000);
  });

  it('is rejected if it does not fit', () => {
    const row = [1, 'x', 0];
    const misfits: [unknown, unknown?][] = [
      [[[4, 0, []]]],
      [[[-1, 1, []]]],
      [[[0, 4, []]]],
      [[[2, 2, []]]],
      [[[0, -1, []]]],
      [[[0.5, 0, []]]],
      [[['0', 0, []]]],
      [[[0, 0, [[1, 'too short']]]]],
      [[[0, 0, [row, 'no row']]]],
      [[[0, 0]]],
      [['no splice']],
      [[null]],
      [[], [null]],
      [[], [3]],
      [[], [[3, 0, 1]]],
      [[], [[0, 3, 1]]],
      [[], [[-1, 0, 1]]],
      [[], [[0, -1, 1]]],
      [[[0, 3, []]], [[0, 0, 1]]],
      [[], ['no cell']],
    ];
    for (const [splice, cells] of misfits)
      expect(apply(ROWS, splice, cells), JSON.stringify(splice)).toBeNull();
    expect(apply(ROWS, [[3, 0, [row]]], [[3, 2, 1]])).toHaveLength(4);
    expect(apply(ROWS)).toBe(ROWS);
  });

  it('makes the client fetch the whole page if it does not fit, and shows nothing meanwhile', async () => {
    const misfits = [{ splice: [[7, 1, []]] }, { generation: 4 }, { publication: 6 }, { cells: [[0, 9, 1]] }];
    for (const misfit of misfits) {
      const platform = new FakePlatform();
      const { recorded, client } = await live(platform);
      platform.socket.push(pageFrame({ tag: 2 })).push(patchFrame({ tag: 2, ...misfit }));
      expect(recorded.pages).toHaveLength(1);
      expect(platform.socket.sent.slice(1)).toEqual([
        { type: 'unsubscribe', id: '1' },
        { type: 'subscribe', id: '1', table: 'final_ui', tag: 3, view: {} },
      ]);
      platform.socket.push(patchFrame({ tag: 2, version: 12 })); // was under way
      expect(platform.socket.sent).toHaveLength(3);
      platform.socket.push(pageFrame({ tag: 3, version: 9 }));
      expect(recorded.pages).toHaveLength(2);
      expect(client.connection.state).toBe('live');
    }
  });

  it('makes the client fetch the page if there is none yet, as does a total', async () => {
    for (const type of ['patch', 'total']) {
      const platform = new FakePlatform();
      const { recorded } = await live(platform);
      platform.socket.push(patchFrame({ type, tag: 2 }));
      expect(recorded.pages).toEqual([]);
      expect(platform.socket.sent.at(-1)).toMatchObject({ type: 'subscribe', tag: 3 });
    }
  });
});
