import { ChangeDetectionStrategy, Component, computed, inject } from '@angular/core';
import { whole } from '../format';
import { OrchestratorStatus } from '../status/orchestrator-status';
import { StatusPoller } from '../status/status-poller';
import { SwapRequests } from './swap-requests';

/** Shows the outcome of the last swap, and the progress of the generation that is being built, for any client. */
@Component({
  selector: 'et-swap-progress',
  changeDetection: ChangeDetectionStrategy.OnPush,
  styles: `
    :host {
      display: block;
    }
    p {
      margin: 0;
    }
    .card {
      display: grid;
      gap: 0.35rem;
      padding: 0.55rem 0.7rem;
      border: 1px solid var(--line);
      border-left: 3px solid var(--quiet);
      border-radius: 6px;
      background: var(--surface);
      box-shadow: var(--shadow);
      font-size: 0.9rem;
      overflow-wrap: anywhere;
    }
    .idle {
      /* not display: none, because screen readers would miss the next outcome */
      padding: 0;
      border: 0;
      box-shadow: none;
    }
    .outcome:empty {
      height: 0;
      margin-bottom: -0.35rem;
    }
    [data-tone="good"] {
      border-left-color: var(--good);
    }
    [data-tone="wait"] {
      border-left-color: var(--accent);
    }
    [data-tone="bad"] {
      border-left-color: var(--bad);
    }
    [data-tone="bad"] .outcome {
      color: var(--bad);
    }
    button {
      justify-self: end;
      padding: 0 0.3rem;
      font-size: 0.85rem;
    }
    progress {
      display: block;
      width: 100%;
      height: 6px;
      accent-color: var(--accent);
    }
    .quiet {
      color: var(--quiet);
      font-size: 0.85rem;
    }
  `,
  template: `
    <div class="card" [class.idle]="!requests.outcome() && !status.upcoming()" [attr.data-tone]="requests.outcome()?.tone ?? 'wait'">
      <p class="outcome" role="status">{{ requests.outcome()?.text }}</p>
      @if (requests.outcome()?.isSettled) {
        <button class="plain" type="button" aria-label="Dismiss the result" (click)="requests.dismiss()">Dismiss</button>
      }
      @if (status.upcoming(); as upcoming) {
        <p>{{ headline() }}</p>
        <progress max="100" [attr.value]="percent()" [attr.aria-label]="headline()"></progress>
        <p class="quiet">
          {{ upcoming.wiring }}
          @if (upcoming.rows) {
            <span>· {{ whole(upcoming.rows) }} rows so far</span>
          }
        </p>
      }
    </div>
  `,
})
export class SwapProgress {
  protected readonly requests = inject(SwapRequests);
  protected readonly status = inject(OrchestratorStatus);
  protected readonly whole = whole;
  private readonly poller = inject(StatusPoller);

  /** Null unless it is warming: before that, there is nothing to count. */
  protected readonly percent = computed(() => {
    const upcoming = this.status.upcoming();
    const build = this.poller.build();
    const isKnown = upcoming?.state === 'warming' && build?.generation === upcoming.generation;
    return isKnown ? Math.floor(build.fraction * 100) : null;
  });
  protected readonly headline = computed(() => {
    const upcoming = this.status.upcoming();
    const percent = this.percent();
    if (!upcoming) return '';
    return `Generation ${upcoming.generation} is ${upcoming.state}${percent === null ? ' …' : `: ${percent} %`}`;
  });
}
