import { ChangeDetectionStrategy, Component, computed, inject } from '@angular/core';
import { Evertable } from '@evertable/angular';
import { moment, whole } from '../words';
import { Status } from './status';

/** The wiring that is live. */
@Component({
  selector: 'et-wiring-now',
  changeDetection: ChangeDetectionStrategy.OnPush,
  styleUrl: './wiring-now.css',
  template: `
    @if (status.wiring(); as wiring) {
      <dl>
        @for (one of wiring.topics; track one.key) {
          <div><dt>{{ one.source }}</dt><dd>{{ one.topic || '–' }}</dd></div>
        }
        <div><dt>join</dt><dd>{{ wiring.join || '–' }}</dd></div>
      </dl>
      <p class="facts">
        <span class="pill" [attr.data-tone]="tone()">{{ state() }}</span>
        @if (status.generation()) {
          <span>generation {{ status.generation() }}</span>
          <span>{{ rows() }}</span>
        }
        @if (applied(); as at) {
          <span>applied {{ at }}</span>
        }
      </p>
    }
    @if (status.message() && !status.coming()) {
      <p class="note">{{ status.message() }}</p>
    }
  `,
})
export class WiringNow {
  protected readonly status = inject(Status);
  private readonly evertable = inject(Evertable);

  private readonly connected = computed(() => this.evertable.connection().state === 'live');
  protected readonly state = computed(() => {
    const state = this.status.state() || 'starting';
    return this.connected() ? state : `${state} when last seen`;
  });
  protected readonly tone = computed(() => {
    const state = this.status.state();
    if (!this.connected()) return 'calm';
    return state === 'live' ? 'good' : state === 'stale' ? 'bad' : 'wait';
  });
  protected readonly rows = computed(() => `${whole(this.status.rows())} rows`);
  protected readonly applied = computed(() => moment(this.status.lastApplied()));
}
