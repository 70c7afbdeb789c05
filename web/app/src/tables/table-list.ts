import { computed, DestroyRef, effect, Injectable, inject, signal, untracked } from '@angular/core';
import { Evertable } from '@evertable/angular';
import type { Refusal } from '@evertable/client';
import { refusalOf } from '../shell/refusals';
import { type Followed, followWith } from './follow';

/** All public names in the server's order, and how many rows each has now. */
@Injectable({ providedIn: 'root' })
export class TableList {
  private readonly evertable = inject(Evertable);
  private readonly life = inject(DestroyRef);
  private readonly listed = signal<readonly string[] | null>(null);
  private readonly problem = signal<Refusal | null>(null);
  /** One subscription to the total alone for each name: the server sends a few bytes, and only on a change. */
  private readonly totals = signal<ReadonlyMap<string, Followed>>(new Map());

  /** Null until the server has told. */
  readonly names = this.listed.asReadonly();
  /** Why the names are not known; the next connection asks again. */
  readonly refusal = this.problem.asReadonly();

  readonly rows = computed(
    () => new Map([...this.totals()].map(([name, { page }]) => [name, page()?.total ?? null] as const)),
  );

  constructor() {
    const isLive = computed(() => this.evertable.connection().state === 'live');
    effect(() => {
      if (isLive() || untracked(this.listed) === null) void this.ask();
    });
  }

  async ask(): Promise<void> {
    try {
      const answer = await this.evertable.request('api/tables');
      const { tables } = (await answer.json()) as { tables: readonly { name: string }[] };
      this.problem.set(null);
      this.list(tables.map(({ name }) => name));
    } catch (error) {
      this.problem.set(refusalOf(error));
    }
  }

  private list(names: readonly string[]): void {
    const before = this.totals();
    if (names.join('\n') === this.listed()?.join('\n')) return;
    for (const [name, followed] of before) if (!names.includes(name)) followed.stop();
    this.totals.set(new Map(names.map((name) => [name, before.get(name) ?? this.count(name)])));
    this.listed.set(names);
  }

  private count(name: string): Followed {
    return followWith(this.evertable, this.life, name, { limit: 0 });
  }
}
