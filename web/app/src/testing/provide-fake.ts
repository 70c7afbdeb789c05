import type { Provider } from '@angular/core';
import { EVERTABLE_CLIENT, Evertable } from '@evertable/angular';
import type { FakeClient } from '@evertable/angular/testing';
import { Session } from '../session/session';

/** Returns the providers that the page's components need, with the client connected. */
export function provideFake(client: FakeClient): Provider[] {
  client.become({ state: 'live' });
  return [
    { provide: EVERTABLE_CLIENT, useValue: client },
    Evertable,
    { provide: Session, useFactory: () => new Session(window) },
  ];
}
