import { ChangeDetectionStrategy, Component, computed, inject, output } from '@angular/core';
import { Evertable } from '@evertable/angular';
import type { Refusal } from '@evertable/client';
import { FlowChart } from '../flow/flow-chart';
import { moment, rate, refusalText, span, whole } from '../format';
import { OrchestratorStatus } from '../status/orchestrator-status';
import { StatusPoller } from '../status/status-poller';
import { SwapForm } from './swap-form';
import { SwapHistory } from './swap-history';
import { SwapProgress } from './swap-progress';
import { SwapReview } from './swap-review';

/** Shows the live wiring. */
@Component({
  selector: 'et-current-wiring',
  changeDetection: ChangeDetectionStrategy.OnPush,
  styles: `
    p {
      margin: 0;
    }
    dl {
      margin: 0;
      overflow: hidden;
      border: 1px solid var(--line);
      border-radius: 8px;
    }
    dl div {
      display: flex;
      gap: 0.75rem;
      padding: 0.2rem 0.6rem;
    }
    dl div + div {
      border-top: 1px solid var(--line);
    }
    dt {
      flex: 0 0 5.5rem;
      overflow: hidden;
      color: var(--quiet);
      text-overflow: ellipsis;
    }
    dd {
      min-width: 0;
      margin: 0;
      font-family: var(--mono);
      font-size: 0.85rem;
      overflow-wrap: anywhere;
    }
    .facts {
      display: flex;
      flex-wrap: wrap;
      gap: 0.2rem 0.75rem;
      align-items: center;
      margin-top: 0.5rem;
      color: var(--quiet);
      font-size: 0.82rem;
      font-variant-numeric: tabular-nums;
    }
    .note {
      margin-top: 0.6rem;
      padding: 0.5rem 0.6rem;
      border-radius: 8px;
      background: var(--sunken);
      font-size: 0.85rem;
      overflow-wrap: anywhere;
    }
  `,
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
    @if (status.message() && !status.upcoming()) {
      <p class="note">{{ status.message() }}</p>
    }
  `,
})
class CurrentWiring {
  protected readonly status = inject(OrchestratorStatus);
  private readonly evertable = inject(Evertable);

  private readonly isConnected = computed(() => this.evertable.connection().state === 'live');
  protected readonly state = computed(() => {
    const state = this.status.state() || 'starting';
    return this.isConnected() ? state : `${state} when last seen`;
  });
  protected readonly tone = computed(() => {
    const state = this.status.state();
    if (!this.isConnected()) return 'calm';
    return state === 'live' ? 'good' : state === 'stale' ? 'bad' : 'wait';
  });
  protected readonly rows = computed(() => `${whole(this.status.rows())} rows`);
  protected readonly applied = computed(() => moment(this.status.lastApplied()));
}

/** Shows the wiring and the flow of rows, and swaps the wiring. */
@Component({
  selector: 'et-wiring-panel',
  changeDetection: ChangeDetectionStrategy.OnPush,
  imports: [CurrentWiring, FlowChart, SwapForm, SwapHistory, SwapProgress, SwapReview],
  styles: `
    :host {
      display: block;
      overflow-y: auto;
      padding: 0 1rem 0.5rem;
      background: var(--surface);
    }
    .head {
      position: sticky;
      z-index: 1;
      top: 0;
      display: flex;
      align-items: center;
      justify-content: space-between;
      margin: 0 -1rem;
      padding: 0.5rem 0.6rem 0.5rem 1rem;
      background: var(--surface);
    }
    h2,
    h3 {
      margin: 0;
      font-size: 0.95rem;
    }
    h2:focus {
      outline: none;
    }
    h3 {
      margin-bottom: 0.4rem;
    }
    section + section {
      margin-top: 0.85rem;
      padding-top: 0.75rem;
      border-top: 1px solid var(--line);
    }
    .charts {
      display: grid;
      grid-template-columns: 1fr 1fr;
      gap: 1rem;
    }
    .foot {
      position: sticky;
      bottom: 0;
      margin: 1rem -0.4rem 0;
    }
    .missing {
      color: var(--quiet);
    }
  `,
  template: `
    <div class="head">
      <h2 id="wiring-title" tabindex="-1">Wiring</h2>
      <button class="plain" type="button" (click)="closed.emit()">Close</button>
    </div>
    @if (status.refusal(); as refusal) {
      <p class="missing">{{ refusalText(refusal) }}</p>
    } @else if (!status.row()) {
      <p class="missing" role="status">{{ status.isStarting() ? 'The server has just started. Its wiring appears soon.' : 'Loading the wiring …' }}</p>
    } @else {
      <section aria-label="Current wiring"><et-current-wiring /></section>
      <et-swap-review />
      <section class="charts" aria-label="Flow">
        <et-flow-chart caption="Rows/s" measure="rate" [samples]="poller.samples()" [format]="rate" />
        <et-flow-chart caption="Data age" measure="age" [samples]="poller.samples()" [format]="span" />
      </section>
      <section aria-labelledby="swap-title">
        <h3 id="swap-title">Swap</h3>
        <et-swap-form />
      </section>
      <section aria-labelledby="history-title">
        <h3 id="history-title">Recent swaps</h3>
        <et-swap-history />
      </section>
      <et-swap-progress class="foot" />
    }
  `,
})
export class WiringPanel {
  readonly closed = output<void>();

  protected readonly status = inject(OrchestratorStatus);
  protected readonly poller = inject(StatusPoller);

  /** Without an orchestrator, the table of its status does not exist. */
  protected refusalText(refusal: Refusal): string {
    return refusalText(
      refusal.condition === 'TABLE_NOT_FOUND' ? { ...refusal, condition: 'CONTROL_DISABLED' } : refusal,
    );
  }

  protected readonly rate = rate;
  protected readonly span = span;
}
