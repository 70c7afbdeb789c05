import { ChangeDetectionStrategy, Component, computed, input } from '@angular/core';
import { span } from '../format';
import { type Sample, WINDOW_MS } from '../status/status-poller';
import { areaPath, ceiling, linesOf, strokePath } from './scale';

const WIDTH = 240;
const HEIGHT = 44;
const MIN_WINDOW_MS = 60_000;
const GAP_MS = 8_000;

/** Draws one measure over the last minutes. Screen readers get its figures as text. */
@Component({
  selector: 'et-flow-chart',
  changeDetection: ChangeDetectionStrategy.OnPush,
  styles: `
    figure {
      margin: 0;
    }
    figcaption,
    .foot {
      display: flex;
      align-items: baseline;
      justify-content: space-between;
    }
    figcaption {
      white-space: nowrap;
      color: var(--quiet);
      font-size: 0.8rem;
    }
    strong {
      color: var(--ink);
      font-size: 0.95rem;
      font-variant-numeric: tabular-nums;
    }
    svg {
      overflow: visible;
      display: block;
      width: 100%;
      height: 44px;
      margin: 0.2rem 0;
    }
    path {
      fill: none;
      vector-effect: non-scaling-stroke;
    }
    .base {
      stroke: var(--line);
    }
    .area {
      fill: var(--accent-soft);
    }
    .line {
      stroke: var(--accent);
      stroke-width: 1.5;
      stroke-linejoin: round;
    }
    .foot {
      color: var(--quiet);
      font-size: 0.72rem;
    }
  `,
  template: `
    <figure>
      <figcaption>
        <span>{{ caption() }}</span>
        <strong>{{ current() }}</strong>
      </figcaption>
      <svg role="img" [attr.aria-label]="summary()" viewBox="0 0 240 44" preserveAspectRatio="none">
        <path class="base" d="M0,44 L240,44 M0,0.5 L240,0.5" />
        <path class="area" [attr.d]="filled()" />
        <path class="line" [attr.d]="line()" />
      </svg>
      <div class="foot" aria-hidden="true"><span>{{ windowText() }}</span><span>top {{ format()(top()) }}</span><span>now</span></div>
    </figure>
  `,
})
export class FlowChart {
  readonly caption = input.required<string>();
  readonly samples = input.required<readonly Sample[]>();
  readonly measure = input.required<'rate' | 'age'>();
  /** Formats a value. */
  readonly format = input.required<(value: number) => string>();

  private readonly points = computed(() =>
    this.samples().flatMap((sample) => {
      const value = sample[this.measure()];
      return value === null ? [] : [{ at: sample.at, value }];
    }),
  );
  private readonly highest = computed(() => Math.max(...this.points().map(({ value }) => value), 0));
  protected readonly top = computed(() => ceiling(this.highest() * 1.1));
  /** At least a minute, and at most what was measured. */
  private readonly windowMs = computed(() => {
    const points = this.points();
    return Math.min(Math.max((points.at(-1)?.at ?? 0) - (points[0]?.at ?? 0), MIN_WINDOW_MS), WINDOW_MS);
  });
  protected readonly windowText = computed(() => span(this.windowMs() / 1000));
  private readonly lines = computed(() =>
    linesOf(this.points(), {
      width: WIDTH,
      height: HEIGHT,
      top: this.top(),
      windowMs: this.windowMs(),
      gapMs: GAP_MS,
    }),
  );
  protected readonly line = computed(() => strokePath(this.lines()));
  protected readonly filled = computed(() => areaPath(this.lines(), HEIGHT));
  protected readonly current = computed(() => {
    const last = this.points().at(-1);
    return last ? this.format()(last.value) : '–';
  });
  protected readonly summary = computed(() =>
    this.points().length === 0
      ? `${this.caption()}: nothing measured yet`
      : `${this.caption()} over the last ${this.windowText()}: now ${this.current()}, at most ${this.format()(this.highest())}`,
  );
}
