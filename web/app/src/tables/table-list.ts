import { DOCUMENT } from '@angular/common';
import { computed, DestroyRef, effect, Injectable, Injector, inject, signal, untracked } from '@angular/core';
import { Evertable } from '@evertable/angular';
import type { Refusal } from '@evertable/client';
import { refusalOf } from '../format';
import { type Followed, follow } from './follow';

// The operator tables have fixed names; those of all others come from the configuration.
export const STATUS = 'orchestrator_status';
export const LOGS = 'orchestrator_logs';
export const MESSAGES = 'control_raw';
export const GENERATIONS = 'generations';
export const DEAD_LETTERS = 'dead_letters';

const OPERATOR_TABLES: readonly string[] = [STATUS, LOGS, MESSAGES, GENERATIONS, DEAD_LETTERS];

export function isOperatorTable(name: string): boolean {
  return OPERATOR_TABLES.includes(name);
}

/** Returns the table to show first: the joined one, which the server lists after those of its sources. */
export function defaultTable(names: readonly string[]): string | null {
  return names.filter((name) => !isOperatorTable(name)).at(-1) ?? names[0] ?? null;
}

/** All public names in the server's order, with the number of rows of each. */
@Injectable({ providedIn: 'root' })
export class TableList {
  private readonly evertable = inject(Evertable);
  private readonly injector = inject(Injector);
  private readonly listed = signal<readonly string[] | null>(null);
  private readonly problem = signal<Refusal | null>(null);
  /** One subscription per name to its total only: the server sends a few bytes, and only on a change. */
  private readonly totals = signal<ReadonlyMap<string, Followed>>(new Map());

  /** Null until the server has answered. */
  readonly names = this.listed.asReadonly();
  /** Why the names are unknown; they are fetched again with the next connection. */
  readonly refusal = this.problem.asReadonly();

  readonly rows = computed(
    () => new Map([...this.totals()].map(([name, { page }]) => [name, page()?.total ?? null] as const)),
  );

  constructor() {
    const isLive = computed(() => this.evertable.connection().state === 'live');
    effect(() => {
      if (isLive() || untracked(this.listed) === null) void this.refresh();
    });
  }

  async refresh(): Promise<void> {
    try {
      const response = await this.evertable.request('api/tables');
      const { tables } = (await response.json()) as { tables: readonly { name: string }[] };
      this.problem.set(null);
      this.setNames(tables.map(({ name }) => name));
    } catch (error) {
      this.problem.set(refusalOf(error));
    }
  }

  private setNames(names: readonly string[]): void {
    const before = this.totals();
    if (names.join('\n') === this.listed()?.join('\n')) return;
    for (const [name, followed] of before) if (!names.includes(name)) followed.stop();
    const followTotal = (name: string) => follow(name, { limit: 0 }, this.injector);
    this.totals.set(new Map(names.map((name) => [name, before.get(name) ?? followTotal(name)])));
    this.listed.set(names);
  }
}

/** The table that is shown: the address's fragment names it, so that reload, back and bookmarks work. */
@Injectable({ providedIn: 'root' })
export class ChosenTable {
  private readonly window = inject(DOCUMENT).defaultView as Window;
  private readonly list = inject(TableList);
  private readonly wanted = signal(this.fragment());

  /** The name in the address if there is such a table, else the default; null until the names are known. */
  readonly name = computed(() => {
    const names = this.list.names();
    if (names === null) return null;
    return names.includes(this.wanted()) ? this.wanted() : defaultTable(names);
  });

  constructor() {
    const update = () => this.wanted.set(this.fragment());
    this.window.addEventListener('hashchange', update);
    inject(DestroyRef).onDestroy(() => this.window.removeEventListener('hashchange', update));
  }

  choose(name: string): void {
    this.window.location.hash = encodeURIComponent(name);
    this.wanted.set(name);
  }

  private fragment(): string {
    const fragment = this.window.location.hash.slice(1);
    try {
      return decodeURIComponent(fragment);
    } catch {
      return fragment;
    }
  }
}
