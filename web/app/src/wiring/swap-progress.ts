import { ChangeDetectionStrategy, Component, computed, inject } from '@angular/core';
import { FlowWatch } from '../flow/flow-watch';
import { whole } from '../words';
import { Status } from './status';
import { SwapDesk } from './swap-desk';

/** What became of the last swap, and how far the generation on its way has come, whoever asked for it. */
@Component({
  selector: 'et-swap-progress',
  changeDetection: ChangeDetectionStrategy.OnPush,
  styleUrl: './swap-progress.css',
  template: `
    <div class="card" [class.idle]="!desk.fate() && !status.coming()" [attr.data-tone]="desk.fate()?.tone ?? 'wait'">
      <p class="fate" role="status">{{ desk.fate()?.words }}</p>
      @if (desk.fate()?.settled) {
        <button class="plain" type="button" aria-label="Dismiss the result" (click)="desk.dismiss()">Dismiss</button>
      }
      @if (status.coming(); as coming) {
        <p>{{ headline() }}</p>
        <progress max="100" [attr.value]="percent()" [attr.aria-label]="headline()"></progress>
        <p class="quiet">
          {{ coming.wiring }}
          @if (coming.rows) {
            <span>· {{ rows() }}</span>
          }
        </p>
      }
    </div>
  `,
})
export class SwapProgress {
  protected readonly desk = inject(SwapDesk);
  protected readonly status = inject(Status);
  private readonly flow = inject(FlowWatch);

  /** Known only while it warms: before, there is nothing to count. */
  protected readonly percent = computed(() => {
    const coming = this.status.coming();
    const build = this.flow.build();
    const known = coming?.state === 'warming' && build?.generation === coming.generation;
    return known ? Math.floor(build.fraction * 100) : null;
  });
  protected readonly headline = computed(() => {
    const coming = this.status.coming();
    const percent = this.percent();
    if (!coming) return '';
    return `Generation ${coming.generation} is ${coming.state}${percent === null ? ' …' : `: ${percent} %`}`;
  });
  protected readonly rows = computed(() => `${whole(this.status.coming()?.rows ?? 0)} rows so far`);
}
