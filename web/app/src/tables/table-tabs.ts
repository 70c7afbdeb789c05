import {
  ChangeDetectionStrategy,
  Component,
  computed,
  ElementRef,
  effect,
  inject,
  linkedSignal,
} from '@angular/core';
import { counted, short } from '../words';
import { ChosenTable } from './chosen-table';
import { DEAD_LETTERS, isForOperators, panelId, tabId } from './operators';
import { TableList } from './table-list';

interface Tab {
  readonly name: string;
  readonly rows: string;
  readonly id: string;
  readonly panel: string;
  readonly title: string;
  readonly alarming: boolean;
  readonly beginsOperators: boolean;
}

const STEPS: Record<string, (place: number, last: number) => number> = {
  ArrowRight: (place, last) => (place === last ? 0 : place + 1),
  ArrowLeft: (place, last) => (place === 0 ? last : place - 1),
  Home: () => 0,
  End: (_place, last) => last,
};

/** A tab for every table, with its rows; arrow keys move between them, Enter or Space chooses. */
@Component({
  selector: 'et-table-tabs',
  changeDetection: ChangeDetectionStrategy.OnPush,
  styleUrl: './table-tabs.css',
  template: `
    <div role="tablist" aria-label="Tables" (keydown)="move($event)">
      @for (tab of tabs(); track tab.name; let place = $index) {
        <button
          role="tab"
          type="button"
          [id]="tab.id"
          [class.operators]="tab.beginsOperators"
          [class.alarming]="tab.alarming"
          [attr.aria-selected]="tab.name === chosen.name()"
          [attr.aria-controls]="tab.name === chosen.name() ? tab.panel : null"
          [title]="tab.title"
          [tabIndex]="tab.name === stop() ? 0 : -1"
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
    const first = names.find(isForOperators);
    return names.map((name): Tab => {
      const rows = this.list.rows().get(name) ?? null;
      return {
        name,
        rows: rows === null ? '–' : short(rows),
        id: tabId(name),
        panel: panelId(name),
        title: rows === null ? 'no rows yet' : counted(rows, 'row'),
        alarming: name === DEAD_LETTERS && (rows ?? 0) > 0,
        beginsOperators: name === first,
      };
    });
  });

  private readonly counted = computed(() => [...this.list.rows().values()].every((rows) => rows !== null));

  /** The one tab that the Tab key stops at. */
  protected readonly stop = linkedSignal(() => this.chosen.name());

  constructor() {
    effect(() => {
      const name = this.chosen.name();
      this.counted(); // then the tabs are wider
      if (name !== null)
        queueMicrotask(() => this.button(name)?.scrollIntoView?.({ block: 'nearest', inline: 'nearest' }));
    });
  }

  protected move(event: KeyboardEvent): void {
    const step = STEPS[event.key];
    const names = this.tabs().map(({ name }) => name);
    if (!step || names.length === 0) return;
    event.preventDefault();
    const name = names[step(names.indexOf(this.stop() ?? ''), names.length - 1)];
    if (name === undefined) return;
    this.stop.set(name);
    this.button(name)?.focus();
  }

  private button(name: string): HTMLElement | null {
    return this.element.ownerDocument.getElementById(tabId(name));
  }
}
