import { TestBed } from '@angular/core/testing';
import { FakeClient } from '@evertable/angular/testing';
import { RequestRefused } from '@evertable/client';
import { provideFake } from '../testing/provide-fake';
import { WiringPanel } from './wiring-panel';

const STATUS = {
  ...{ ordersTopic: 'orders_v1', linesTopic: 'lines_v1', joinType: 'left', lastApplied: null },
  ...{ generation: 3, state: 'live', rows: 12, message: '' },
};
const PLACE = { partition: 0, offset: 17 };
const message = (result: string, reason = '') => ({
  ...{ ordersTopic: 'orders_v2', linesTopic: null, joinType: null, ts: '2026-11-15T20:00:00.000Z' },
  ...{ ...PLACE, result, reason },
});

const columns = (amount: number) => [
  { name: 'id', nulls: 0, rejected: 0 },
  { name: 'amount', nulls: 0, rejected: amount },
];
const REVIEW = {
  ...{
    generation: 4,
    result: 'held',
    message: { ordersTopic: 'orders_v2', linesTopic: 'lines_v1', joinType: 'left' },
  },
  ...{ reasons: ["All 30 records of 'orders_v2' were rejected."], warnings: [] },
  sources: [
    {
      ...{ source: 'orders', key: 'id', topic: 'orders_v2', topic_before: 'orders_v1', columns: columns(30) },
      ...{ rows: 0, rows_before: 12, rejected: 30, rejected_before: 0 },
    },
    {
      ...{ source: 'lines', key: 'id', topic: 'lines_v1', topic_before: 'lines_v1', columns: columns(0) },
      ...{ rows: 5, rows_before: 5, rejected: 1, rejected_before: 1 },
    },
  ],
  joined: { rows: 0, rows_before: 12 },
};

async function shown(status: object = {}) {
  const client = new FakeClient();
  client.answers.set('api/control', PLACE).set('api/rollback', PLACE).set('api/status', status);
  client.answers.set('api/topics', {
    topics: { ordersTopic: ['orders_v1', 'orders_v2'], linesTopic: ['lines_v1'] },
  });
  TestBed.configureTestingModule({ providers: provideFake(client) });
  const fixture = TestBed.createComponent(WiringPanel);
  const page: HTMLElement = fixture.nativeElement;
  const settle = async () => {
    await fixture.whenStable();
    await new Promise((done) => setTimeout(done));
    await fixture.whenStable();
  };
  await settle();
  client.show('orchestrator_status', [STATUS]);
  await settle();
  const one = <T extends HTMLElement>(selector: string) => page.querySelector<T>(selector) as T;
  const outcome = () => one('.outcome').textContent?.trim();
  const type = (text: string) => {
    const field = one<HTMLInputElement>('#topic-ordersTopic');
    field.value = text;
    field.dispatchEvent(new Event('input'));
  };
  const submit = async () => {
    one('form').dispatchEvent(new Event('submit', { cancelable: true }));
    await settle();
  };
  return { client, page, settle, one, outcome, type, submit };
}

describe('the wiring panel', () => {
  it('shows the live wiring with the names of the sources', async () => {
    const { page } = await shown();
    expect([...page.querySelectorAll('dd')].map((field) => field.textContent)).toEqual([
      'orders_v1',
      'lines_v1',
      'left',
    ]);
    expect(page.querySelectorAll('fieldset input').length).toBe(4);
    expect(page.textContent).toContain('generation 3');
  });

  it('sends only what was changed, and follows its outcome', async () => {
    const { client, one, settle, outcome, type, submit } = await shown();
    type(' orders_v2 ');
    await submit();
    expect(client.posted).toEqual([{ path: 'api/control', body: { ordersTopic: ' orders_v2 ' } }]);
    expect(outcome()).toContain('Sent.');
    expect(client.active.some(({ current }) => current.filter === 'partition = 0 and offset = 17')).toBe(
      true,
    );
    client.show('control_raw', [message('pending')]);
    await settle();
    expect(outcome()).toContain('Accepted.');
    client.show('control_raw', [message('applied')]);
    await settle();
    expect(outcome()).toContain('Live now: orders_v1, left join with lines_v1.');
    expect(one<HTMLInputElement>('#topic-ordersTopic').value).toBe('');
  });

  it('keeps the typed text after a rejection', async () => {
    const { client, one, settle, outcome, type, submit } = await shown();
    type('nosuch');
    await submit();
    client.show('control_raw', [message('rejected', "TOPIC_NOT_FOUND: There is no topic 'nosuch'.")]);
    await settle();
    expect(outcome()).toContain('Rejected; the tables stay as they are: TOPIC_NOT_FOUND');
    expect(one<HTMLInputElement>('#topic-ordersTopic').value).toBe('nosuch');
  });

  it('sends nothing if nothing was changed', async () => {
    const { client, outcome, submit } = await shown();
    await submit();
    expect(client.posted).toEqual([]);
    expect(outcome()).toContain('Nothing to swap yet');
  });

  it('shows why a rollback is refused', async () => {
    const { client, page, settle, outcome } = await shown();
    client.answers.set(
      'api/rollback',
      new RequestRefused({ condition: 'CONTROL_READ_ONLY', message: 'no', status: 403 }),
    );
    [...page.querySelectorAll('button')].find((button) => button.textContent === 'Roll back')?.click();
    await settle();
    expect(client.posted).toEqual([{ path: 'api/rollback', body: {} }]);
    expect(outcome()).toContain('may not write to the control topic');
  });

  it('shows the progress of the next generation', async () => {
    const { client, page, settle } = await shown();
    const wiring = { ordersTopic: 'orders_v2', linesTopic: 'lines_v1', joinType: 'left' };
    client.answers.set('api/status', { build: { generation: 4, fraction: 0.625 } });
    client.show('generations', [{ generation: 4, ...wiring, state: 'warming', rows: 1_000 }]);
    await settle();
    await settle();
    expect(page.querySelector('.card')?.textContent).toContain('Generation 4 is warming: 62 %');
    expect(page.querySelector('progress')?.getAttribute('value')).toBe('62');
  });

  it('suggests the topics of each source', async () => {
    const { page, one, settle } = await shown();
    one('#topic-ordersTopic').dispatchEvent(new Event('focus'));
    await settle();
    const suggested = (key: string) =>
      [...page.querySelectorAll(`#topics-${key} option`)].map(
        (option) => option.getAttribute('value') ?? (option as HTMLOptionElement).value,
      );
    expect(suggested('ordersTopic')).toEqual(['orders_v1', 'orders_v2']);
    expect(suggested('linesTopic')).toEqual(['lines_v1']);
  });

  it('shows a held swap with its figures, and sends it again by force', async () => {
    const { client, page, settle } = await shown({ review: REVIEW });
    expect(page.querySelector('#review-title')?.textContent).toBe('Swap held for review');
    expect(page.querySelector('et-swap-review')?.textContent).toContain(
      "All 30 records of 'orders_v2' were rejected.",
    );
    const cells = [...page.querySelectorAll('et-swap-review tbody tr')].map((row) =>
      [...row.children].map((cell) => cell.textContent?.trim()),
    );
    expect(cells).toEqual([
      ['orders topic', 'orders_v1', 'orders_v2'],
      ['orders rows', '12', '0'],
      ['orders rejected', '0', '30'],
      ['lines topic', 'lines_v1', 'lines_v1'],
      ['lines rows', '5', '5'],
      ['lines rejected', '1', '1'],
      ['joined rows', '12', '0'],
      ['id (key)', '–', '–'],
      ['amount', '–', '30 of 30'],
    ]);
    const button = [...page.querySelectorAll('button')].find((one) => one.textContent === 'Go live anyway');
    button?.click();
    await settle();
    expect(client.posted).toEqual([{ path: 'api/control', body: { ...REVIEW.message, force: true } }]);
    expect(page.querySelector('#review-title')).toBeNull();
  });
});
