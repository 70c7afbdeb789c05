import { ChangeDetectionStrategy, Component, computed, inject } from '@angular/core';
import { FlowWatch } from '../flow/flow-watch';
import { moment, whole } from '../words';
import { Status } from './status';

/** The wiring that is live, and the generation that is on its way. */
@Component({
  selector: 'et-wiring-now',
  changeDetection: ChangeDetectionStrategy.OnPush,
  styleUrl: './wiring-now.css',
  template: `
    @if (status.wiring(); as wiring) {
      <div class="plan">
        <dl>
          @for (one of wiring.topics; track one.key) {
            <div><dt>{{ one.source }}</dt><dd>{{ one.topic || '–' }}</dd></div>
          }
          <div><dt>join</dt><dd>{{ wiring.join || '–' }}</dd></div>
        </dl>
      </div>
      <p class="facts">
        <span class="pill" [attr.data-tone]="tone()">{{ status.state() || 'starting' }}</span>
        @if (status.generation()) {
          <span>generation {{ status.generation() }}</span>
          <span>{{ rows() }}</span>
        }
        @if (applied(); as at) {
          <span>last applied {{ at }}</span>
        }
      </p>
    }
    @if (status.coming(); as coming) {
      <div class="coming">
        <p>
          Generation {{ coming.generation }} is {{ coming.state }}@if (percent() !== null) {<span>: {{ percent() }} %</span>}
        </p>
        <progress
          max="100"
          [attr.value]="percent()"
          [attr.aria-label]="'Generation ' + coming.generation + ' is ' + coming.state"
        ></progress>
        <p class="quiet">{{ coming.wiring }}@if (coming.rows) {<span>, {{ said(coming.rows) }} rows so far</span>}</p>
      </div>
    } @else if (status.message()) {
      <p class="note">{{ status.message() }}</p>
    }
  `,
})
export class WiringNow {
  protected readonly status = inject(Status);
  private readonly flow = inject(FlowWatch);

  protected readonly said = whole;
  protected readonly tone = computed(() => {
    const state = this.status.state();
    return state === 'live' ? 'good' : state === 'stale' ? 'bad' : 'wait';
  });
  protected readonly rows = computed(() => `${whole(this.status.rows())} rows`);
  protected readonly applied = computed(() => moment(this.status.lastApplied()));
  protected readonly percent = computed(() => {
    const coming = this.status.coming();
    const build = this.flow.build();
    const known = coming?.state === 'warming' && build?.generation === coming.generation;
    return known ? Math.floor(build.fraction * 100) : null;
  });
}
