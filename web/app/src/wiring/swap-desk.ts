import { computed, DestroyRef, effect, Injectable, inject, signal } from '@angular/core';
import { Evertable } from '@evertable/angular';
import { inWords, refusalOf } from '../shell/refusals';
import { type Followed, followWith } from '../tables/follow';
import { MESSAGES } from '../tables/operators';
import { type Fate, fateOf, filterFor, type Place } from './fate';
import { Status } from './status';
import { fieldsOf } from './wiring';

/** What was asked for last. */
interface Errand {
  readonly begun: number;
  readonly settled: number | null;
  /** Its row of `control_raw`; null while the server has not answered. */
  readonly row: Followed | null;
  /** What we know without such a row. */
  readonly told: Fate | null;
}

/** Sends swaps and rollbacks, and follows what becomes of the last one. */
@Injectable({ providedIn: 'root' })
export class SwapDesk {
  private readonly evertable = inject(Evertable);
  private readonly status = inject(Status);
  private readonly life = inject(DestroyRef);
  private readonly errand = signal<Errand | null>(null);

  /** What became of the last errand; null if there was none. */
  readonly fate = computed((): Fate | null => {
    const errand = this.errand();
    if (!errand || errand.told) return errand?.told ?? null;
    const page = errand.row?.page() ?? null;
    const row = page ? (fieldsOf(page)[0] ?? null) : null;
    return fateOf(row, this.status.row(), ((errand.settled ?? Date.now()) - errand.begun) / 1000);
  });

  readonly busy = computed(() => this.fate()?.settled === false);

  constructor() {
    effect(() => {
      const errand = this.errand();
      if (errand && errand.settled === null && !this.busy())
        this.errand.set({ ...errand, settled: Date.now() });
    });
  }

  swap(message: Readonly<Record<string, string | boolean>>): Promise<void> {
    return this.send('api/control', message);
  }

  rollback(): Promise<void> {
    return this.send('api/rollback', {});
  }

  /** Words of our own, where there is nothing to send. */
  say(words: string): void {
    this.begin({ tone: 'calm', words, settled: true });
  }

  /** The result was read. */
  dismiss(): void {
    this.errand()?.row?.stop();
    this.errand.set(null);
  }

  private async send(path: string, body: object): Promise<void> {
    const errand = this.begin(null);
    try {
      const answer = await this.evertable.request(path, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      });
      const place = (await answer.json()) as Place;
      if (this.errand() !== errand) return;
      const row = followWith(this.evertable, this.life, MESSAGES, { filter: filterFor(place), limit: 1 });
      this.errand.set({ ...errand, row });
    } catch (error) {
      const told: Fate = { tone: 'bad', words: inWords(refusalOf(error)), settled: true };
      if (this.errand() === errand) this.errand.set({ ...errand, told });
    }
  }

  private begin(told: Fate | null): Errand {
    this.errand()?.row?.stop();
    const errand = { begun: Date.now(), settled: null, row: null, told };
    this.errand.set(errand);
    return errand;
  }
}
