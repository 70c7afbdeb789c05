import { TestbedHarnessEnvironment } from '@angular/cdk/testing/testbed';
import { ChangeDetectionStrategy, Component, provideZonelessChangeDetection, signal } from '@angular/core';
import { type ComponentFixture, TestBed } from '@angular/core/testing';
import type { Page, Value } from '@evertable/client';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { cellSelector, GRID } from '../src/ag-grid';
import { EVERTABLE_CLIENT, Evertable, LiveTable } from '../src/index';
import { FakeClient, LiveTableHarness } from '../src/testing';

@Component({
  selector: 'test-host',
  imports: [LiveTable],
  changeDetection: ChangeDetectionStrategy.OnPush,
  template: `<live-table [table]="table()" [tableName]="alias()" [sort]="sort()" [filter]="filter()" [initialOffset]="offset()" />`,
})
class Host {
  readonly table = signal('final_ui');
  readonly alias = signal('');
  readonly sort = signal<string[]>([]);
  readonly filter = signal('');
  readonly offset = signal(0);
}

const columns = [
  { name: 'id', type: 'long' },
  { name: 'name', type: 'string' },
  { name: 'balance', type: 'double' },
];
const rows: Value[][] = Array.from({ length: 50 }, (_, at) => [at, `Ada ${at}`, at % 2 ? null : at * 1000]);

let client: FakeClient;
let fixture: ComponentFixture<Host>;
let table: LiveTableHarness;

/** Gives elements a size, because jsdom has no layout and the grid draws only what fits. */
function layout(): void {
  for (const [name, size] of [
    ['clientWidth', 800],
    ['offsetWidth', 800],
    ['clientHeight', 400],
    ['offsetHeight', 400],
  ] as const) {
    vi.spyOn(HTMLElement.prototype, name, 'get').mockReturnValue(size);
  }
}

async function send(page: Partial<Page> = {}): Promise<void> {
  client.last.send({ columns, rows, total: rows.length, ...page });
  await settle();
}

/** Waits for the tasks that the grid schedules. */
async function settle(): Promise<void> {
  await new Promise((done) => setTimeout(done, 20));
  await fixture.whenStable();
}

beforeEach(async () => {
  layout();
  client = new FakeClient();
  TestBed.configureTestingModule({
    providers: [provideZonelessChangeDetection(), { provide: EVERTABLE_CLIENT, useValue: client }, Evertable],
  });
  fixture = TestBed.createComponent(Host);
  table = await TestbedHarnessEnvironment.loader(fixture).getHarness(LiveTableHarness);
  await settle();
});

afterEach(() => vi.restoreAllMocks());

describe('a live table', () => {
  it('shows its status until there are rows, then the rows', async () => {
    expect(await table.stateText()).toBe('Connecting…');
    expect(await table.placard()).toBe('Connecting…');
    client.become({ state: 'live' });
    client.last.wait();
    await settle();
    expect(await table.placard()).toMatch(/is waiting for its first generation/);

    await send({ generation: 3 });
    expect(await table.stateText()).toBe('Live · generation 3');
    expect(await table.placard()).toBeNull();
    expect(await table.rowCount()).toBe(50);
    expect(await table.columnNames()).toEqual(['id', 'name', 'balance']);
    expect(await table.cellText(2, 'name')).toBe('Ada 2');
    expect(await table.cellText(2, 'balance')).toBe(new Intl.NumberFormat().format(2000));
    expect(await table.cellText(1, 'balance')).toBe('null');
  });

  it('marks direction overrides in the cell and the tooltip', async () => {
    const turned = rows.map((row, at) => (at === 2 ? [2, 'invoice\u202egnp.exe', 2000] : row));
    client.last.send({ columns, rows: turned, total: 50 });
    await settle();
    const cell = fixture.nativeElement.querySelector(cellSelector(2, 'name'));
    cell.dispatchEvent(new MouseEvent('mouseover', { bubbles: true }));
    expect(cell.textContent).toBe('invoice‹U+202E›gnp.exe');
    expect(cell.title).toBe('invoice‹U+202E›gnp.exe');
  });

  it('changes cells in place, and lets them flash', async () => {
    await send();
    const cell = fixture.nativeElement.querySelector(cellSelector(2, 'name'));
    const changed = rows.map((row, at) => (at === 2 ? [2, 'Eve', 2000] : row));
    client.last.send({ columns, rows: changed, total: 50 }, { kind: 'patch', splices: [], cells: [[2, 1]] });
    expect(await table.cellText(2, 'name')).toBe('Eve');
    expect(fixture.nativeElement.querySelector(cellSelector(2, 'name'))).toBe(cell);
    const flashing = [...fixture.nativeElement.querySelectorAll('.live-flash')];
    expect(flashing).toEqual([cell]);
    cell.dispatchEvent(new Event('animationend', { bubbles: true }));
    expect(cell.classList.contains('live-flash')).toBe(false);
  });

  it('shows a swap in the same grid: all rows at once, and the new columns', async () => {
    await send();
    const grid = fixture.nativeElement.querySelector(GRID);
    client.become({ state: 'live' });
    await send({
      generation: 2,
      columns: [...columns.slice(0, 2), { name: 'added', type: 'string' }],
      rows: rows.map(([id]) => [id as Value, `new ${id}`, 'x']),
    });
    expect(fixture.nativeElement.querySelector(GRID)).toBe(grid);
    expect(await table.columnNames()).toEqual(['id', 'name', 'added']);
    expect(await table.cellText(0, 'name')).toBe('new 0');
    expect(await table.cellText(0, 'added')).toBe('x');
    expect(await table.stateText()).toBe('Swapped to generation 2');
  });

  it('keeps the last rows without a connection, and reports it', async () => {
    client.become({ state: 'live' });
    await send();
    client.become({ state: 'reconnecting', attempts: 2 });
    await settle();
    expect(await table.stateText()).toMatch(/^Reconnecting \(attempt 2\)… These are the last rows/);
    expect(await table.cellText(0, 'name')).toBe('Ada 0');
    await table.press('Refresh');
    expect(client.reconnects).toBe(1);
  });

  it('follows another table under the same element', async () => {
    await send();
    const first = client.last;
    fixture.componentInstance.table.set('');
    fixture.componentInstance.alias.set('users_ui');
    await settle();
    expect(first.disposed).toBe(true);
    expect(client.last.table).toBe('users_ui');
    expect(await table.cellText(0, 'name')).toBeNull();
    fixture.componentInstance.alias.set('');
    fixture.componentInstance.sort.set(['id']);
    await settle();
    expect(client.subscriptions.map(({ disposed, views }) => [disposed, views.length])).toEqual([
      [true, 1],
      [true, 1],
    ]);
  });

  it('disposes its subscription', async () => {
    await send();
    fixture.destroy();
    expect(client.last.disposed).toBe(true);
  });
});

describe('sorting and filtering', () => {
  beforeEach(async () => {
    client.become({ state: 'live' });
    await send();
  });

  it('sorts on the server by headers, and keeps the rows until the answer', async () => {
    await table.sort('balance');
    expect(client.last.current.sort).toEqual(['balance']);
    expect(await table.cellText(0, 'name')).toBe('Ada 0');
    await table.sort('balance');
    await table.sort('name', true);
    expect(client.last.current.sort).toEqual(['-balance', 'name']);
    expect(await table.sortOf('balance')).toBe('descending');
    expect(await table.sortOf('id')).toBe('none');
  });

  it('combines the sort and filters of the application and the user', async () => {
    fixture.componentInstance.filter.set('id > 1');
    fixture.componentInstance.sort.set(['-id']);
    await settle();
    await table.filter("name contains 'x'");
    await table.filterColumn('balance', 'between', '1', '5');
    expect(client.last.current).toMatchObject({
      sort: ['-id'],
      filter: `(name contains 'x') and (id > 1) and ("balance" between 1 and 5)`,
      offset: 0,
    });
    await table.press('Remove the filter "balance" between 1 and 5');
    expect(client.last.current.filter).toBe(`(name contains 'x') and (id > 1)`);
  });

  it('shows where a filter is invalid, and keeps the rows', async () => {
    fixture.componentInstance.filter.set('id > 1');
    await settle();
    await send();
    await table.filter('balance >');
    client.last.refuse({ condition: 'FILTER_INVALID', message: "expected a value after '>'", position: 10 });
    await settle();
    expect(await table.filterError()).toMatch(/^balance > +At character 10: +expected a value/);
    expect(client.last.current.filter).toBe('id > 1');
    expect(await table.cellText(0, 'name')).toBe('Ada 0');
    await table.filter('balance > 1');
    await send();
    expect(await table.filterError()).toBeNull();
  });

  it('distinguishes an empty table from a filter without matches', async () => {
    await send({ rows: [], total: 0 });
    expect(await table.placard()).toMatch(/^No rows yet/);
    expect(await table.rangeText()).toBe('no rows');
    await table.filter('id < 0');
    await send({ rows: [], total: 0 });
    expect(await table.placard()).toBe('No row matches the filter.');
    await table.press('Clear the filters');
    expect(client.last.current.filter).toBe('');
  });

  it('reports columns that a swap removed', async () => {
    await table.sort('balance');
    await send();
    await send({ generation: 2, missing: ['balance'] });
    expect(fixture.nativeElement.querySelector('.live-missing').textContent).toMatch(
      /removed the column balance/,
    );
    expect(client.last.current.sort).toEqual([]);
  });

  it('still shows its sort after a swap', async () => {
    await table.sort('name');
    await send();
    await send({ generation: 2, columns: columns.slice(0, 2), rows: rows.map((row) => row.slice(0, 2)) });
    expect(await table.sortOf('name')).toBe('ascending');
  });

  it('exports what is shown', async () => {
    const click = vi.spyOn(HTMLAnchorElement.prototype, 'click').mockImplementation(() => {});
    URL.createObjectURL = () => 'blob:x';
    URL.revokeObjectURL = () => {};
    const path = 'api/tables/final_ui.csv?columns=id&columns=name&columns=balance&sort=name';
    client.answers.set(path, '');
    await table.sort('name');
    await send();
    await table.press('Export CSV');
    await settle();
    expect(client.requests).toEqual([path]);
    expect(click).toHaveBeenCalledOnce();
    client.answers.set(path, new Error('TOO_MANY_EXPORTS'));
    await table.press('Export CSV');
    await settle();
    expect(await table.stateText()).toMatch(/The export failed: TOO_MANY_EXPORTS/);
  });
});

describe('copying', () => {
  const copied: string[] = [];

  beforeEach(async () => {
    copied.length = 0;
    Object.defineProperty(navigator, 'clipboard', {
      configurable: true,
      value: { writeText: async (text: string) => void copied.push(text) },
    });
    client.become({ state: 'live' });
    await send({ rows: [['9007199254740993', 'a\tb', null]], total: 1 });
  });

  const key = (shiftKey: boolean) =>
    fixture.nativeElement
      .querySelector(cellSelector(0, 'id'))
      .dispatchEvent(new KeyboardEvent('keydown', { key: 'c', ctrlKey: true, shiftKey, bubbles: true }));

  it('copies the focused cell unformatted, or its row for a spreadsheet', async () => {
    const cell = fixture.nativeElement.querySelector(cellSelector(0, 'id'));
    // the grid listens to one of them, which depends on the environment
    for (const press of ['pointerdown', 'touchstart', 'mousedown']) {
      cell.dispatchEvent(new MouseEvent(press, { bubbles: true }));
    }
    key(false);
    key(true);
    await settle();
    expect(copied).toEqual(['9007199254740993', '9007199254740993\t"a\tb"\t']);
    expect(await table.stateText()).toMatch(/Copied\.$/);
  });

  it('shows what to do if no cell is focused', async () => {
    await table.press('Copy row');
    expect(await table.stateText()).toMatch(/Choose a cell first/);
    expect(copied).toEqual([]);
  });
});
