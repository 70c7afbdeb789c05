import { ChangeDetectionStrategy, Component, computed, input } from '@angular/core';
import { span } from '../words';
import { type Sample, WINDOW_MS } from './samples';
import { area, ceiling, runs, stroke } from './scale';

const WIDTH = 240;
const HEIGHT = 44;
const LEAST_MS = 60_000;
const GAP_MS = 8_000;

/** One measure over the last minutes, as a line; its figures are text, for everybody. */
@Component({
  selector: 'et-flow-chart',
  changeDetection: ChangeDetectionStrategy.OnPush,
  styleUrl: './flow-chart.css',
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
      <div class="foot" aria-hidden="true"><span>{{ back() }}</span><span>top {{ words()(top()) }}</span><span>now</span></div>
    </figure>
  `,
})
export class FlowChart {
  readonly caption = input.required<string>();
  readonly samples = input.required<readonly Sample[]>();
  readonly measure = input.required<'rate' | 'age'>();
  /** A value as people say it. */
  readonly words = input.required<(value: number) => string>();

  private readonly points = computed(() =>
    this.samples().flatMap((sample) => {
      const value = sample[this.measure()];
      return value === null ? [] : [{ at: sample.at, value }];
    }),
  );
  private readonly highest = computed(() => Math.max(...this.points().map(({ value }) => value), 0));
  protected readonly top = computed(() => ceiling(this.highest() * 1.1));
  /** A minute at first, then as far back as was looked. */
  private readonly windowMs = computed(() => {
    const points = this.points();
    return Math.min(Math.max((points.at(-1)?.at ?? 0) - (points[0]?.at ?? 0), LEAST_MS), WINDOW_MS);
  });
  protected readonly back = computed(() => span(this.windowMs() / 1000));
  private readonly lines = computed(() =>
    runs(this.points(), {
      width: WIDTH,
      height: HEIGHT,
      top: this.top(),
      windowMs: this.windowMs(),
      gapMs: GAP_MS,
    }),
  );
  protected readonly line = computed(() => stroke(this.lines()));
  protected readonly filled = computed(() => area(this.lines(), HEIGHT));
  protected readonly current = computed(() => {
    const last = this.points().at(-1);
    return last ? this.words()(last.value) : '–';
  });
  protected readonly summary = computed(() =>
    this.points().length === 0
      ? `${this.caption()}: nothing measured yet`
      : `${this.caption()} over the last ${this.back()}: now ${this.current()}, at most ${this.words()(this.highest())}`,
  );
}
