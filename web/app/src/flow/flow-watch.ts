import { DOCUMENT } from '@angular/common';
import { computed, effect, Injectable, inject, signal } from '@angular/core';
import { Evertable } from '@evertable/angular';
import type { Review } from '../wiring/review';
import { Status } from '../wiring/status';
import { type Count, countIn, keep, type Sample, sampleOf, type Told } from './samples';

const CALM_MS = 2_000;
const BUILDING_MS = 1_000;

interface Answer extends Told {
  readonly build?: { readonly generation?: number; readonly fraction?: number };
  readonly review?: Review;
}

/** How far the generation on its way has come, 0 … 1. */
export interface BuildProgress {
  readonly generation: number;
  readonly fraction: number;
}

/** Looks at `/api/status` every other second, while somebody looks at the page and the connection is live. */
@Injectable({ providedIn: 'root' })
export class FlowWatch {
  private readonly evertable = inject(Evertable);
  private readonly document = inject(DOCUMENT);
  private readonly taken = signal<readonly Sample[]>([]);
  private readonly built = signal<BuildProgress | null>(null);
  private readonly reviewed = signal<Review | null>(null);
  private before: Count | null = null;
  private looking = false;

  readonly samples = this.taken.asReadonly();
  readonly build = this.built.asReadonly();
  /** The last swap that was held back or went live with a warning; null if there was none. */
  readonly review = this.reviewed.asReadonly();
  readonly now = computed(() => this.taken().at(-1) ?? null);

  constructor() {
    const status = inject(Status);
    const isLive = computed(() => this.evertable.connection().state === 'live');
    const pace = computed(() => (status.coming() ? BUILDING_MS : CALM_MS));
    effect((onCleanup) => {
      if (!isLive()) return;
      void this.look();
      const timer = setInterval(() => this.document.hidden || void this.look(), pace());
      onCleanup(() => clearInterval(timer));
    });
  }

  private async look(): Promise<void> {
    if (this.looking) return; // a slow server is not asked twice
    this.looking = true;
    try {
      const told = (await (await this.evertable.request('api/status')).json()) as Answer;
      const at = Date.now();
      const sample = sampleOf(told, at, this.before);
      this.before = countIn(told, at);
      this.taken.update((samples) => keep(samples, sample));
      if (told.review?.generation !== this.reviewed()?.generation) this.reviewed.set(told.review ?? null);
      const { generation, fraction } = told.build ?? {};
      const known = generation !== undefined && fraction !== undefined;
      this.built.set(known ? { generation, fraction: Math.min(Math.max(fraction, 0), 1) } : null);
    } catch {
      // the connection tells of it; the chart has a gap
    } finally {
      this.looking = false;
    }
  }
}
