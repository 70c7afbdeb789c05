import { provideZonelessChangeDetection } from '@angular/core';
import { bootstrapApplication } from '@angular/platform-browser';
import { provideEvertable } from '@evertable/angular';
import { App } from './app';
import { Session } from './session/session';

const session = new Session(window);

bootstrapApplication(App, {
  providers: [
    provideZonelessChangeDetection(),
    provideEvertable({ token: () => session.token() }),
    { provide: Session, useValue: session },
  ],
});
