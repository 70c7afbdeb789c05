import {
  afterNextRender,
  ChangeDetectionStrategy,
  Component,
  CSP_NONCE,
  computed,
  DestroyRef,
  type ElementRef,
  effect,
  inject,
  input,
  numberAttribute,
  signal,
  untracked,
  ViewEncapsulation,
  viewChild,
} from '@angular/core';
import type { Change, Page, Refusal, Subscription, View } from '@evertable/client';
import { Evertable } from './evertable';
import { Grid } from './grid';
import { RowWindow } from './window';

/** A table that follows its name for ever: `<live-table table="final_ui" />`. */
@Component({
  selector: 'live-table',
  changeDetection: ChangeDetectionStrategy.OnPush,
  encapsulation: ViewEncapsulation.None,
  styleUrl: './live-table.css',
  template: `<div #grid class="live-grid"></div>
    <p class="live-status" role="status">{{ evertable.connection().state }} {{ refusal()?.message }}</p>`,
})
export class LiveTable {
  protected readonly evertable = inject(Evertable);

  /** The public name of the table. */
  readonly table = input('');
  /** The same as `table`. */
  readonly tableName = input('');
  /** Rows that are fetched at a time. */
  readonly pageSize = input(300, { transform: numberAttribute });
  /** The row to begin at. */
  readonly initialOffset = input(0, { transform: numberAttribute });
  /** Names of columns, in order; all if not said. */
  readonly columns = input<readonly string[] | null>(null);
  /** Names, `-` before one for descending. */
  readonly sort = input<readonly string[]>([]);
  /** See FILTERS.md. */
  readonly filter = input('');

  protected readonly refusal = signal<Refusal | null>(null);
  private readonly name = computed(() => this.table() || this.tableName());
  private readonly host = viewChild.required<ElementRef<HTMLElement>>('grid');
  private readonly query = computed<View>(() => ({
    columns: this.columns(),
    sort: this.sort(),
    filter: this.filter(),
  }));
  private window = new RowWindow(300);
  private grid: Grid | null = null;
  private subscription: Subscription | null = null;

  constructor() {
    const nonce = inject(CSP_NONCE, { optional: true });
    const ready = signal(false);
    afterNextRender(() => {
      this.grid = new Grid(this.host().nativeElement, { scrolled: () => this.follow() }, nonce);
      ready.set(true);
    });
    effect((stop) => {
      const name = this.name();
      if (!ready() || !name) return;
      untracked(() => this.subscribe(name));
      stop(() => this.subscription?.dispose());
    });
    effect(() => {
      this.query();
      untracked(() => this.subscription?.view(this.view()));
    });
    inject(DestroyRef).onDestroy(() => {
      this.subscription?.dispose();
      this.grid?.destroy();
    });
  }

  private view(): View {
    return { ...this.query(), offset: this.window.offset, limit: this.window.limit };
  }

  private subscribe(name: string): void {
    this.window = new RowWindow(this.pageSize(), this.initialOffset());
    this.subscription = this.evertable.subscribe(name, this.view(), {
      page: (page, change) => this.show(page, change),
      refused: (reason) => this.refusal.set(reason),
    });
  }

  private show(page: Page, change: Change): void {
    this.refusal.set(null);
    this.grid?.show(page, change);
    this.follow();
  }

  private follow(): void {
    const page = this.subscription?.page;
    const seen = this.grid?.seen;
    if (page && seen && this.window.cover(seen.first, seen.last, page.total))
      this.subscription?.view(this.view());
  }
}
