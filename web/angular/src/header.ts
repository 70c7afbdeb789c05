import type { IHeaderComp, IHeaderParams } from 'ag-grid-community';
import { directionOf } from './query.js';
import { TEXTS } from './texts.js';

/** What column headers show and do. The grid's own sorting would empty it first; ours keeps the rows until others come. */
export interface Heads {
  sort(): readonly string[];
  isFiltered(column: string): boolean;
  sortBy(column: string, more: boolean): void;
  filterBy(column: string, header: HTMLElement): void;
  /** Headers on screen, to be told when any of this changes. */
  readonly shown: Set<Header>;
}

const MARKS = { ascending: '▲', descending: '▼', none: '' } as const;

/** A column's header: its name, which sorts, and a button that filters. */
export class Header implements IHeaderComp {
  private readonly gui = document.createElement('div');
  private readonly label = document.createElement('button');
  private readonly mark = document.createElement('span');
  private readonly filter = document.createElement('button');
  private params!: IHeaderParams & { heads: Heads };

  init(params: IHeaderParams & { heads: Heads }): void {
    this.params = params;
    this.gui.className = 'live-head';
    this.label.className = 'live-head-sort';
    this.mark.className = 'live-head-mark';
    this.mark.setAttribute('aria-hidden', 'true');
    this.filter.className = 'live-head-filter';
    for (const button of [this.label, this.filter]) {
      button.type = 'button';
      button.tabIndex = -1; // The grid's arrows reach the header; Enter and Alt+Down do what these do.
    }
    this.label.addEventListener('click', (event) => this.sort(event.shiftKey));
    this.filter.addEventListener('click', () => this.open());
    params.eGridHeader.addEventListener('keydown', this.onKey);
    this.gui.append(this.label, this.mark, this.filter);
    params.heads.shown.add(this);
    this.update();
  }

  getGui(): HTMLElement {
    return this.gui;
  }

  refresh(params: IHeaderParams & { heads: Heads }): boolean {
    this.params = params;
    this.update();
    return true;
  }

  /** Shows how the column is sorted and filtered now. */
  update(): void {
    const { heads, displayName, eGridHeader } = this.params;
    const sort = heads.sort();
    const { direction, rank } = directionOf(sort, this.column);
    this.label.textContent = displayName;
    this.label.title = `${TEXTS.sortOf(displayName)} (Enter)`;
    this.mark.textContent = MARKS[direction] + (rank >= 0 && sort.length > 1 ? rank + 1 : '');
    this.filter.setAttribute('aria-label', TEXTS.filterOf(displayName));
    this.filter.title = `${TEXTS.filterOf(displayName)} (Alt+↓)`;
    this.filter.classList.toggle('live-on', heads.isFiltered(this.column));
    eGridHeader.setAttribute('aria-sort', direction);
  }

  destroy(): void {
    this.params.eGridHeader.removeEventListener('keydown', this.onKey);
    this.params.heads.shown.delete(this);
  }

  private get column(): string {
    return this.params.column.getColId();
  }

  private sort(more: boolean): void {
    this.params.heads.sortBy(this.column, more);
  }

  private open(): void {
    this.params.heads.filterBy(this.column, this.params.eGridHeader);
  }

  private readonly onKey = (event: KeyboardEvent) => {
    if (event.target !== this.params.eGridHeader) return;
    if (event.key === 'Enter') this.sort(event.shiftKey);
    else if (event.key === 'ArrowDown' && event.altKey) this.open();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
}
