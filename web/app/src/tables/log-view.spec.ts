import { TestBed } from '@angular/core/testing';
import { FakeClient } from '@evertable/angular/testing';
import { provideFake } from '../testing/provide-fake';
import { LogView } from './log-view';

const LINES = [
  { ts: '2026-11-15T20:00:03.000Z', level: 'ERROR', msg: 'Generation 2 cannot go on' },
  { ts: '2026-11-15T20:00:02.000Z', level: 'WARN', msg: 'Control message rejected' },
  { ts: '2026-11-15T20:00:01.000Z', level: 'INFO', msg: 'Starting' },
];

async function shown() {
  const client = new FakeClient();
  TestBed.configureTestingModule({ providers: provideFake(client) });
  const fixture = TestBed.createComponent(LogView);
  await fixture.whenStable();
  const page: HTMLElement = fixture.nativeElement;
  const texts = (selector: string) =>
    [...page.querySelectorAll(selector)].map((one) => one.textContent?.trim());
  return { client, fixture, page, texts };
}

describe('the log', () => {
  it('loads the newest lines, and shows that it does', async () => {
    const { client, texts } = await shown();
    expect(client.active[0]?.current).toMatchObject({ newestFirst: true, limit: 200 });
    expect(texts('.none')).toEqual(['Loading the log …']);
  });

  it('shows each level as a word', async () => {
    const { client, fixture, texts } = await shown();
    client.show('orchestrator_logs', LINES);
    await fixture.whenStable();
    expect(texts('.level')).toEqual(['error', 'warning', 'info']);
    expect(texts('.msg')[0]).toBe('Generation 2 cannot go on');
    expect(texts('.count')).toEqual(['3 lines']);
  });

  it('filters by level, and shows that no line matches', async () => {
    const { client, fixture, page, texts } = await shown();
    client.show('orchestrator_logs', LINES);
    await fixture.whenStable();
    [...page.querySelectorAll('button')].find((button) => button.textContent?.trim() === 'Errors')?.click();
    expect(client.active[0]?.current.filter).toBe("level = 'ERROR'");
    client.show('orchestrator_logs', []);
    await fixture.whenStable();
    expect(texts('.none')).toEqual(['No such lines.']);
  });

  it('loads older lines on request', async () => {
    const { client, fixture, page } = await shown();
    client.show('orchestrator_logs', LINES, 1_000);
    await fixture.whenStable();
    const more = page.querySelector<HTMLButtonElement>('.more');
    expect(more?.textContent).toContain('997 older lines');
    more?.click();
    expect(client.active[0]?.current.limit).toBe(400);
  });
});
