import {
  ChangeDetectionStrategy,
  Component,
  computed,
  ElementRef,
  effect,
  inject,
  linkedSignal,
} from '@angular/core';
import { counted, short } from '../format';
import { ChosenTable, DEAD_LETTERS, isOperatorTable, TableList } from './table-list';

/** Returns the id of a tab; a table's name may hold spaces, which an id may not. */
export function tabId(name: string): string {
  return `tab-${encodeURIComponent(name)}`;
}

export function panelId(name: string): string {
  return `panel-${encodeURIComponent(name)}`;
}

interface Tab {
  readonly name: string;
  readonly rows: string;
  readonly id: string;
  readonly panel: string;
  readonly title: string;
  readonly isAlarming: boolean;
  readonly isFirstOperatorTable: boolean;
}

const STEPS: Record<string, (index: number, last: number) => number> = {
  ArrowRight: (index, last) => (index === last ? 0 : index + 1),
  ArrowLeft: (index, last) => (index === 0 ? last : index - 1),
  Home: () => 0,
  End: (_index, last) => last,
};

/** Shows a tab with a row count for every table; arrow keys move between tabs, Enter or Space chooses one. */
@Component({
  selector: 'et-table-tabs',
  changeDetection: ChangeDetectionStrategy.OnPush,
  styles: `
    :host {
      display: block;
      min-width: 0;
      border-bottom: 1px solid var(--line);
      background: var(--surface);
    }
    [role="tablist"] {
      position: relative;
      display: flex;
      gap: 0.1rem;
      overflow-x: auto;
      scroll-padding-inline: 2rem;
      padding: 0 0.5rem;
      /* a shade at an end behind which there are more tabs */
      background:
        linear-gradient(to right, var(--surface) 40%, transparent) left / 3rem 100% local no-repeat,
        linear-gradient(to left, var(--surface) 40%, transparent) right / 3rem 100% local no-repeat,
        linear-gradient(to right, var(--line), transparent) left / 1rem 100% scroll no-repeat,
        linear-gradient(to left, var(--line), transparent) right / 1rem 100% scroll no-repeat;
      scrollbar-width: none;
      overscroll-behavior-x: contain;
    }
    button {
      flex: none;
      padding: 0.55rem 0.7rem 0.5rem;
      border: 0;
      border-bottom: 2px solid transparent;
      border-radius: 0;
      background: none;
      color: var(--quiet);
      font-weight: 500;
    }
    button:hover {
      color: var(--ink);
    }
    button:focus-visible {
      outline-offset: -3px;
    }
    button[aria-selected="true"] {
      border-bottom-color: var(--accent);
      color: var(--ink);
    }
    button.operators {
      margin-left: 0.9rem;
    }
    button.operators::before {
      position: absolute;
      height: 1.2rem;
      margin-left: -1.15rem;
      border-left: 1px solid var(--line);
      content: "";
    }
    .rows {
      display: inline-block;
      min-width: 2.3rem;
      margin-left: 0.3rem;
      padding: 0 0.4rem;
      border-radius: 999px;
      background: var(--sunken);
      color: var(--quiet);
      font-size: 0.78rem;
      font-variant-numeric: tabular-nums;
      text-align: center;
    }
    .alarming .rows {
      background: var(--warn-soft);
      color: var(--warn);
      font-weight: 650;
    }
  `,
  template: `
    <div role="tablist" aria-label="Tables" (keydown)="move($event)">
      @for (tab of tabs(); track tab.name) {
        <button
          role="tab"
          type="button"
          [id]="tab.id"
          [class.operators]="tab.isFirstOperatorTable"
          [class.alarming]="tab.isAlarming"
          [attr.aria-selected]="tab.name === chosen.name()"
          [attr.aria-controls]="tab.name === chosen.name() ? tab.panel : null"
          [title]="tab.title"
          [tabIndex]="tab.name === tabStop() ? 0 : -1"
          (click)="chosen.choose(tab.name)"
        >
          {{ tab.name }} <span class="rows">{{ tab.rows }}</span><span class="unseen"> rows</span>
        </button>
      }
    </div>
  `,
})
export class TableTabs {
  protected readonly chosen = inject(ChosenTable);
  private readonly list = inject(TableList);
  private readonly element = inject<ElementRef<HTMLElement>>(ElementRef).nativeElement;

  protected readonly tabs = computed(() => {
    const names = this.list.names() ?? [];
    const first = names.find(isOperatorTable);
    return names.map((name): Tab => {
      const rows = this.list.rows().get(name) ?? null;
      return {
        name,
        rows: rows === null ? '–' : short(rows),
        id: tabId(name),
        panel: panelId(name),
        title: rows === null ? 'no rows yet' : counted(rows, 'row'),
        isAlarming: name === DEAD_LETTERS && (rows ?? 0) > 0,
        isFirstOperatorTable: name === first,
      };
    });
  });

  private readonly isCounted = computed(() => [...this.list.rows().values()].every((rows) => rows !== null));

  /** The only tab that the Tab key reaches. */
  protected readonly tabStop = linkedSignal(() => this.chosen.name());

  constructor() {
    effect(() => {
      const name = this.chosen.name();
      this.isCounted(); // the tabs become wider then
      if (name !== null)
        queueMicrotask(() => this.button(name)?.scrollIntoView?.({ block: 'nearest', inline: 'nearest' }));
    });
  }

  protected move(event: KeyboardEvent): void {
    const step = STEPS[event.key];
    const names = this.tabs().map(({ name }) => name);
    if (!step || names.length === 0) return;
    event.preventDefault();
    const name = names[step(names.indexOf(this.tabStop() ?? ''), names.length - 1)];
    if (name === undefined) return;
    this.tabStop.set(name);
    this.button(name)?.focus();
  }

  private button(name: string): HTMLElement | null {
    return this.element.ownerDocument.getElementById(tabId(name));
  }
}
