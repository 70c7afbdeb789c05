import { ChangeDetectionStrategy, Component, computed, effect, inject, untracked } from '@angular/core';
import { Evertable } from '@evertable/angular';
import { Login } from './session/login';
import { Session } from './session/session';
import { Theme } from './shell/theme';
import { Workspace } from './shell/workspace';
import { OrchestratorStatus } from './status/orchestrator-status';

/** Shows the page, or the login if the server refuses access. */
@Component({
  selector: 'et-app',
  changeDetection: ChangeDetectionStrategy.OnPush,
  imports: [Login, Workspace],
  template: `
    @if (refusal(); as reason) {
      <et-login [reason]="reason" (retry)="evertable.reconnect()" />
    } @else {
      <et-workspace />
    }
  `,
})
export class App {
  protected readonly evertable = inject(Evertable);
  /** Subscribes at once, so that there is a connection that can be refused. */
  protected readonly status = inject(OrchestratorStatus);
  protected readonly theme = inject(Theme);

  protected readonly refusal = computed(() => {
    const { state, reason } = this.evertable.connection();
    return state === 'refused' ? reason : null;
  });

  constructor() {
    const { token } = inject(Session);
    effect(() => {
      token();
      if (untracked(this.refusal)) this.evertable.reconnect();
    });
  }
}
