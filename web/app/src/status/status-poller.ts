import { DOCUMENT } from '@angular/common';
import { computed, effect, Injectable, inject, signal } from '@angular/core';
import { Evertable } from '@evertable/angular';
import { OrchestratorStatus } from './orchestrator-status';

const POLL_MS = 2_000;
const BUILD_POLL_MS = 1_000;

/** How far back the charts go. */
export const WINDOW_MS = 5 * 60_000;

/** One measurement of the flow. */
export interface Sample {
  /** In milliseconds since 1970. */
  readonly at: number;
  /** Rows that became visible per second; null if unknown. */
  readonly rate: number | null;
  /** The age of the newest visible row in seconds; null if unknown. */
  readonly age: number | null;
}

/** The fields of `GET /api/status` about the flow. */
export interface FlowStatus {
  readonly orchestrator?: { readonly rows?: unknown; readonly generation?: unknown } | null;
  readonly flow?: { readonly rows_per_s?: unknown; readonly data_age_s?: unknown };
}

/** The number of visible rows of a generation at one moment. */
export interface RowCount {
  readonly at: number;
  readonly rows: number;
  readonly generation: number;
}

export function rowCountOf(status: FlowStatus, at: number): RowCount | null {
  const rows = finite(status.orchestrator?.rows);
  const generation = finite(status.orchestrator?.generation);
  return rows === null || generation === null ? null : { at, rows, generation };
}

/** Returns rows per second between two counts; null across a swap, when the difference is meaningless. */
export function rateBetween(before: RowCount | null, now: RowCount | null): number | null {
  if (!before || !now || before.generation !== now.generation || now.at <= before.at) return null;
  return (Math.max(now.rows - before.rows, 0) * 1000) / (now.at - before.at);
}

/** Returns a sample with the server's own rate, or else the rate between two counts. */
export function sampleOf(status: FlowStatus, at: number, before: RowCount | null): Sample {
  return {
    at,
    rate: finite(status.flow?.rows_per_s) ?? rateBetween(before, rowCountOf(status, at)),
    age: finite(status.flow?.data_age_s),
  };
}

/** Adds a sample, and removes those that are too old to be drawn. */
export function addSample(samples: readonly Sample[], sample: Sample): readonly Sample[] {
  return [...samples.filter((one) => one.at > sample.at - WINDOW_MS), sample];
}

function finite(value: unknown): number | null {
  return typeof value === 'number' && Number.isFinite(value) ? value : null;
}

/** The last swap that was held or went live with a warning, as in `GET /api/status`. */
export interface Review {
  readonly generation: number;
  readonly result: 'held' | 'applied';
  /** The control message that requested this wiring. */
  readonly message: Readonly<Record<string, string>>;
  readonly reasons: readonly string[];
  readonly warnings: readonly string[];
  readonly sources: readonly ReviewedSource[];
  readonly joined: { readonly rows: number; readonly rows_before: number | null };
}

export interface ReviewedSource {
  readonly source: string;
  readonly key: string;
  readonly topic: string;
  readonly topic_before: string | null;
  readonly rows: number;
  readonly rows_before: number | null;
  readonly rejected: number;
  readonly rejected_before: number | null;
  readonly columns: readonly ReviewedColumn[];
}

export interface ReviewedColumn {
  readonly name: string;
  readonly nulls: number;
  readonly rejected: number;
}

interface StatusResponse extends FlowStatus {
  readonly build?: { readonly generation?: number; readonly fraction?: number };
  readonly review?: Review;
}

/** The progress of the generation that is being built, from 0 to 1. */
export interface BuildProgress {
  readonly generation: number;
  readonly fraction: number;
}

/** Polls `/api/status` while the page is visible and the connection is live. */
@Injectable({ providedIn: 'root' })
export class StatusPoller {
  private readonly evertable = inject(Evertable);
  private readonly document = inject(DOCUMENT);
  private readonly recent = signal<readonly Sample[]>([]);
  private readonly progress = signal<BuildProgress | null>(null);
  private readonly lastReview = signal<Review | null>(null);
  private lastCount: RowCount | null = null;
  private isPolling = false;

  readonly samples = this.recent.asReadonly();
  readonly build = this.progress.asReadonly();
  /** The last swap that was held or went live with a warning; null if there was none. */
  readonly review = this.lastReview.asReadonly();
  readonly latest = computed(() => this.recent().at(-1) ?? null);

  constructor() {
    const status = inject(OrchestratorStatus);
    const isLive = computed(() => this.evertable.connection().state === 'live');
    const interval = computed(() => (status.upcoming() ? BUILD_POLL_MS : POLL_MS));
    effect((onCleanup) => {
      if (!isLive()) return;
      void this.poll();
      const timer = setInterval(() => this.document.hidden || void this.poll(), interval());
      onCleanup(() => clearInterval(timer));
    });
  }

  private async poll(): Promise<void> {
    if (this.isPolling) return; // a slow server gets one request at a time
    this.isPolling = true;
    try {
      const response = await this.evertable.request('api/status');
      const status = (await response.json()) as StatusResponse;
      const at = Date.now();
      const sample = sampleOf(status, at, this.lastCount);
      this.lastCount = rowCountOf(status, at);
      this.recent.update((samples) => addSample(samples, sample));
      if (status.review?.generation !== this.lastReview()?.generation) {
        this.lastReview.set(status.review ?? null);
      }
      const { generation, fraction } = status.build ?? {};
      const isKnown = generation !== undefined && fraction !== undefined;
      this.progress.set(isKnown ? { generation, fraction: Math.min(Math.max(fraction, 0), 1) } : null);
    } catch {
      // the header shows the connection's state, and the chart has a gap
    } finally {
      this.isPolling = false;
    }
  }
}
