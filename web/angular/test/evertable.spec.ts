import { TestBed } from '@angular/core/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { EVERTABLE_CLIENT, Evertable, entityTable } from '../src/index';
import { FakeClient } from '../src/testing';

let client: FakeClient;
let evertable: Evertable;

beforeEach(() => {
  client = new FakeClient();
  TestBed.configureTestingModule({ providers: [{ provide: EVERTABLE_CLIENT, useValue: client }, Evertable] });
  evertable = TestBed.inject(Evertable);
});

describe('Evertable', () => {
  it('reports the state of the connection, and ends it with the application', () => {
    client.become({ state: 'live' });
    expect(evertable.connection().state).toBe('live');
    TestBed.resetTestingModule();
    expect(client.disposed).toBe(true);
  });

  it('streams rows as objects, and keeps the objects of unchanged rows', () => {
    const { rows$, dispose } = evertable.streamTable('users_ui', 2);
    const seen: object[][] = [];
    let done = false;
    rows$.subscribe({ next: (rows) => seen.push(rows), complete: () => (done = true) });
    expect(client.last.current).toEqual({ limit: 2 });

    const columns = [
      { name: 'id', type: 'int' },
      { name: 'name', type: 'string' },
    ];
    const ada = [1, 'Ada'];
    client.last.send({ columns, rows: [ada, [2, 'Bob']] });
    client.last.send({ columns, rows: [ada, [2, 'Eve']] }, { kind: 'patch', splices: [], cells: [[1, 1]] });
    expect(seen.at(-1)).toEqual([
      { id: 1, name: 'Ada' },
      { id: 2, name: 'Eve' },
    ]);
    expect(seen[1]?.[0]).toBe(seen[0]?.[0]);

    const late: object[][] = [];
    rows$.subscribe((rows) => late.push(rows));
    expect(late.length).toBe(1);
    dispose();
    expect([done, client.last.disposed]).toEqual([true, true]);
  });

  it('creates new objects when the columns change', () => {
    const seen: object[][] = [];
    evertable.streamTable('users_ui').rows$.subscribe((rows) => seen.push(rows));
    const row = [1];
    client.last.send({ columns: [{ name: 'id', type: 'int' }], rows: [row] });
    client.last.send({ columns: [{ name: 'key', type: 'int' }], rows: [row] });
    expect(seen.at(-1)).toEqual([{ key: 1 }]);
  });

  it('reports why a table cannot be streamed', async () => {
    let error: unknown;
    evertable.streamTable('nope').rows$.subscribe({ error: (reason) => (error = reason) });
    client.last.refuse({ condition: 'TABLE_NOT_FOUND', message: 'no' });
    expect(error).toMatchObject({ condition: 'TABLE_NOT_FOUND' });
    await Promise.resolve();
    expect(client.last.disposed).toBe(true);
  });
});

describe('entityTable', () => {
  it.each([
    [['user'], 'users_ui'],
    [['Users', 'user '], 'users_ui'],
    [['ACCOUNT'], 'accounts_ui'],
    [['accounts'], 'accounts_ui'],
    [['user', 'account'], 'final_ui'],
    [['transaction'], 'final_ui'],
    [[], 'final_ui'],
  ])('maps %j to %s', (entities, table) => {
    expect(entityTable(entities)).toBe(table);
  });
});
