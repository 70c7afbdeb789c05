import { ChangeDetectionStrategy, Component, inject, output } from '@angular/core';
import type { Refusal } from '@evertable/client';
import { FlowChart } from '../flow/flow-chart';
import { FlowWatch } from '../flow/flow-watch';
import { inWords } from '../shell/refusals';
import { rate, span } from '../words';
import { Status } from './status';
import { SwapForm } from './swap-form';
import { SwapProgress } from './swap-progress';
import { SwapReview } from './swap-review';
import { SwapStory } from './swap-story';
import { WiringNow } from './wiring-now';

/** What is wired now, how it flows, and how to change it. */
@Component({
  selector: 'et-wiring-panel',
  changeDetection: ChangeDetectionStrategy.OnPush,
  imports: [FlowChart, SwapForm, SwapProgress, SwapReview, SwapStory, WiringNow],
  styleUrl: './wiring-panel.css',
  template: `
    <div class="head">
      <h2 id="wiring-title" tabindex="-1">Wiring</h2>
      <button class="plain" type="button" (click)="closed.emit()">Close</button>
    </div>
    @if (status.refusal(); as refusal) {
      <p class="missing">{{ unwired(refusal) }}</p>
    } @else if (!status.row()) {
      <p class="missing" role="status">{{ status.starting() ? 'The server has just started. How things are wired shows soon.' : 'Asking how things are wired …' }}</p>
    } @else {
      <section aria-label="Now"><et-wiring-now /></section>
      <et-swap-review />
      <section class="charts" aria-label="Flow">
        <et-flow-chart caption="Rows/s" measure="rate" [samples]="flow.samples()" [words]="rate" />
        <et-flow-chart caption="Data age" measure="age" [samples]="flow.samples()" [words]="span" />
      </section>
      <section aria-labelledby="swap-title">
        <h3 id="swap-title">Swap</h3>
        <et-swap-form />
      </section>
      <section aria-labelledby="story-title">
        <h3 id="story-title">Recent swaps</h3>
        <et-swap-story />
      </section>
      <et-swap-progress class="foot" />
    }
  `,
})
export class WiringPanel {
  readonly closed = output<void>();

  protected readonly status = inject(Status);
  protected readonly flow = inject(FlowWatch);
  /** Without an orchestrator there is no table that it would tell its status in. */
  protected unwired(refusal: Refusal): string {
    return inWords(
      refusal.condition === 'TABLE_NOT_FOUND' ? { ...refusal, condition: 'CONTROL_DISABLED' } : refusal,
    );
  }

  protected readonly rate = rate;
  protected readonly span = span;
}
