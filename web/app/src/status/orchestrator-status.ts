import { computed, Injectable } from '@angular/core';
import { follow, numberOf, rowsOf, textOf } from '../tables/follow';
import { GENERATIONS, STATUS } from '../tables/table-list';
import { describeWiring, wiringOf } from './wiring';

const BUILD_STATES = ['building', 'warming'];

/** A generation that is not live yet. */
export interface UpcomingGeneration {
  readonly generation: number;
  readonly state: string;
  readonly rows: number;
  readonly wiring: string;
}

/** The live wiring and the generation that is being built, from the orchestrator's tables. */
@Injectable({ providedIn: 'root' })
export class OrchestratorStatus {
  private readonly status = follow(STATUS, { limit: 1 });
  private readonly generations = follow(GENERATIONS, { limit: 8, newestFirst: true });
  private readonly newest = computed(() => rowsOf(this.generations.page()));

  /** Why there is no status: a server without an orchestrator has none. */
  readonly refusal = this.status.refusal;

  /** Whether the server answers, but its orchestrator has not reported yet. */
  readonly isStarting = computed(() => this.status.page()?.total === 0);

  /** The row of `orchestrator_status`; null until it arrives. */
  readonly row = computed(() => rowsOf(this.status.page())[0] ?? null);

  readonly wiring = computed(() => {
    const row = this.row();
    return row ? wiringOf(row) : null;
  });

  readonly state = computed(() => textOf(this.row()?.state));
  readonly generation = computed(() => numberOf(this.row()?.generation));
  readonly rows = computed(() => numberOf(this.row()?.rows));
  readonly message = computed(() => textOf(this.row()?.message));
  readonly lastApplied = computed(() => textOf(this.row()?.lastApplied) || null);

  readonly upcoming = computed((): UpcomingGeneration | null => {
    const row = this.newest().find((one) => BUILD_STATES.includes(textOf(one.state)));
    if (!row) return null;
    return {
      generation: numberOf(row.generation),
      state: textOf(row.state),
      rows: numberOf(row.rows),
      wiring: describeWiring(wiringOf(row)),
    };
  });

  /** Generations that still run beside the live one: a rollback to them is instant. */
  readonly lingering = computed(() =>
    this.newest()
      .filter((row) => row.state === 'lingering')
      .map((row) => numberOf(row.generation)),
  );
}
