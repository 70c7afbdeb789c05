import { TestBed } from '@angular/core/testing';
import { FakeClient } from '@evertable/angular/testing';
import { provideFake } from '../testing/provide-fake';
import { TableTabs } from './table-tabs';

const NAMES = ['user', 'account', 'user_account', 'dead_letters', 'orchestrator_logs'];

async function shown() {
  const client = new FakeClient();
  client.answers.set('api/tables', { tables: NAMES.map((name) => ({ name })) });
  TestBed.configureTestingModule({ providers: provideFake(client) });
  const fixture = TestBed.createComponent(TableTabs);
  document.body.append(fixture.nativeElement);
  await vi.waitFor(async () => {
    await fixture.whenStable();
    expect(fixture.nativeElement.querySelectorAll('[role=tab]').length).toBe(NAMES.length);
  });
  const tabs = [...fixture.nativeElement.querySelectorAll('[role=tab]')] as HTMLElement[];
  const press = async (key: string) => {
    (document.activeElement ?? document.body).dispatchEvent(
      new KeyboardEvent('keydown', { key, bubbles: true }),
    );
    await fixture.whenStable();
    return document.activeElement?.id;
  };
  return {
    client,
    fixture,
    tabs,
    press,
    selected: () =>
      tabs
        .filter((tab) => tab.ariaSelected === 'true' || tab.getAttribute('aria-selected') === 'true')
        .map((tab) => tab.id),
  };
}

describe('the tabs', () => {
  beforeEach(() => history.replaceState(null, '', '/'));

  it('show every name in the order of the server, with the joined table chosen', async () => {
    const { tabs, selected } = await shown();
    expect(tabs.map((tab) => tab.id)).toEqual(NAMES.map((name) => `tab-${name}`));
    expect(selected()).toEqual(['tab-user_account']);
  });

  it('count rows, and warn of dead letters', async () => {
    const { client, fixture, tabs } = await shown();
    expect(client.active.map(({ table, current }) => [table, current.limit])).toEqual(
      NAMES.map((name) => [name, 0]),
    );
    client.show('account', [], 1_204);
    client.show('dead_letters', [], 3);
    await fixture.whenStable();
    expect(tabs[1]?.textContent?.trim()).toBe('account 1.2K rows');
    expect(tabs[1]?.title).toBe('1,204 rows');
    expect(tabs[0]?.title).toBe('no rows yet');
    expect(tabs[3]?.classList).toContain('alarming');
  });

  it('are reached by arrow keys and chosen by a click, which changes the address', async () => {
    const { fixture, tabs, press, selected } = await shown();
    expect(tabs.map((tab) => tab.tabIndex)).toEqual([-1, -1, 0, -1, -1]);
    tabs[2]?.focus();
    expect(await press('ArrowRight')).toBe('tab-dead_letters');
    expect(await press('End')).toBe('tab-orchestrator_logs');
    expect(await press('ArrowRight')).toBe('tab-user');
    expect(selected()).toEqual(['tab-user_account']);
    (document.activeElement as HTMLElement).click();
    await fixture.whenStable();
    expect(selected()).toEqual(['tab-user']);
    expect(location.hash).toBe('#user');
  });
});
