import { computed, Injectable } from '@angular/core';
import { follow } from '../tables/follow';
import { GENERATIONS, STATUS } from '../tables/operators';
import { count, fieldsOf, said, text, wiringOf } from './wiring';

const ON_THE_WAY = ['building', 'warming'];

/** A generation that is not live yet. */
export interface Coming {
  readonly generation: number;
  readonly state: string;
  readonly rows: number;
  readonly wiring: string;
}

/** What is live now and what is on its way, as the orchestrator tells it. */
@Injectable({ providedIn: 'root' })
export class Status {
  private readonly followed = follow(STATUS, { limit: 1 });
  private readonly newest = follow(GENERATIONS, { limit: 8, newestFirst: true });

  /** Why there is no status: a server without an orchestrator has none. */
  readonly refusal = this.followed.refusal;

  /** The server answers, and its orchestrator has said nothing yet. */
  readonly starting = computed(() => this.followed.page()?.total === 0);

  /** The row of `orchestrator_status`; null until it came. */
  readonly row = computed(() => {
    const page = this.followed.page();
    return page ? (fieldsOf(page)[0] ?? null) : null;
  });

  readonly wiring = computed(() => {
    const row = this.row();
    return row ? wiringOf(row) : null;
  });

  readonly state = computed(() => text(this.row()?.state));
  readonly generation = computed(() => count(this.row()?.generation));
  readonly rows = computed(() => count(this.row()?.rows));
  readonly message = computed(() => text(this.row()?.message));
  readonly lastApplied = computed(() => text(this.row()?.lastApplied) || null);

  readonly coming = computed((): Coming | null => {
    const page = this.newest.page();
    const row = page && fieldsOf(page).find((one) => ON_THE_WAY.includes(text(one.state)));
    if (!row) return null;
    const wiring = said(wiringOf(row));
    return {
      generation: count(row.generation),
      state: text(row.state),
      rows: count(row.rows),
      wiring,
    };
  });

  /** Generations that still run beside the live one: going back to them is instant. */
  readonly lingering = computed(() => {
    const page = this.newest.page();
    if (!page) return [];
    return fieldsOf(page)
      .filter((row) => row.state === 'lingering')
      .map((row) => count(row.generation));
  });
}
