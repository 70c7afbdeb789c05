import { TestBed } from '@angular/core/testing';
import { FakeClient } from '@evertable/angular/testing';
import { App } from './app';
import { Session } from './session/session';
import { provideFake } from './testing/provide-fake';

function shown() {
  const client = new FakeClient();
  client.answers.set('api/tables', { tables: [] }).set('api/status', {});
  window.matchMedia ??= () =>
    ({ matches: false, addEventListener() {}, removeEventListener() {} }) as unknown as MediaQueryList;
  TestBed.configureTestingModule({ providers: provideFake(client) });
  const fixture = TestBed.createComponent(App);
  return { client, fixture, page: fixture.nativeElement as HTMLElement };
}

describe('the page', () => {
  beforeEach(() => sessionStorage.clear());

  it('asks for a token when the server refuses, and reconnects with it', async () => {
    const { client, fixture, page } = shown();
    client.become({
      state: 'refused',
      reason: { condition: 'TOKEN_MISSING', message: 'no token', status: 401 },
    });
    await fixture.whenStable();
    expect(page.querySelector('[role=alert]')?.textContent).toContain('requires a token');
    const field = page.querySelector('input') as HTMLInputElement;
    field.value = ' secret ';
    page.querySelector('form')?.dispatchEvent(new Event('submit', { cancelable: true }));
    expect(TestBed.inject(Session).token()).toBe('secret');
    await fixture.whenStable();
    expect(client.reconnects).toBeGreaterThan(0);
  });

  it('reports a wrong token', async () => {
    const { client, fixture, page } = shown();
    client.become({ state: 'refused', reason: { condition: 'TOKEN_WRONG', message: 'wrong', status: 401 } });
    await fixture.whenStable();
    expect(page.querySelector('[role=alert]')?.textContent).toContain('does not know that token');
  });

  it('shows any other refusal in the words of the server', async () => {
    const { client, fixture, page } = shown();
    const reason = { condition: 'ORIGIN_NOT_ALLOWED', message: 'Add it to server.origins.', status: 403 };
    client.become({ state: 'refused', reason });
    await fixture.whenStable();
    expect(page.querySelector('[role=alert]')?.textContent).toBe('Add it to server.origins.');
    expect(page.querySelector('input')).toBeNull();
  });

  it('shows the tables when the connection is live', async () => {
    const { fixture, page } = shown();
    await vi.waitFor(async () => {
      await fixture.whenStable();
      expect(page.textContent).toContain('This server has no tables.');
    });
    expect(page.querySelector('et-page-header')?.textContent).toContain('live');
  });
});
