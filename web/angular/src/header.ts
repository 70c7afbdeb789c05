import type { IHeaderComp, IHeaderParams } from 'ag-grid-community';
import { directionOf } from './query.js';
import { TEXTS } from './texts.js';

/** What column headers show and do. The grid's own sorting would remove the rows first; this one keeps them. */
export interface Headers {
  sort(): readonly string[];
  isFiltered(column: string): boolean;
  sortBy(column: string, more: boolean): void;
  filterBy(column: string, header: HTMLElement): void;
  /** Headers on screen, which must be updated when any of this changes. */
  readonly onScreen: Set<HeaderCell>;
}

const MARKS = { ascending: '▲', descending: '▼', none: '' } as const;

/** A column's header: its name, which sorts, and a button that filters. */
export class HeaderCell implements IHeaderComp {
  private readonly element = document.createElement('div');
  private readonly label = document.createElement('button');
  private readonly mark = document.createElement('span');
  private readonly filter = document.createElement('button');
  private params!: IHeaderParams & { headers: Headers };

  init(params: IHeaderParams & { headers: Headers }): void {
    this.params = params;
    this.element.className = 'live-head';
    this.label.className = 'live-head-sort';
    this.mark.className = 'live-head-mark';
    this.mark.setAttribute('aria-hidden', 'true');
    this.filter.className = 'live-head-filter';
    for (const button of [this.label, this.filter]) {
      button.type = 'button';
      button.tabIndex = -1; // the arrow keys reach the header, where Enter and Alt+Down do the same
    }
    this.label.addEventListener('click', (event) => this.sort(event.shiftKey));
    this.filter.addEventListener('click', () => this.open());
    params.eGridHeader.addEventListener('keydown', this.onKey);
    this.element.append(this.label, this.mark, this.filter);
    params.headers.onScreen.add(this);
    this.update();
  }

  getGui(): HTMLElement {
    return this.element;
  }

  refresh(params: IHeaderParams & { headers: Headers }): boolean {
    this.params = params;
    this.update();
    return true;
  }

  /** Shows how the column is sorted and filtered. */
  update(): void {
    const { headers, displayName, eGridHeader } = this.params;
    const sort = headers.sort();
    const { direction, rank } = directionOf(sort, this.column);
    this.label.textContent = displayName;
    this.label.title = `${TEXTS.sortOf(displayName)} (Enter)`;
    this.mark.textContent = MARKS[direction] + (rank >= 0 && sort.length > 1 ? rank + 1 : '');
    this.filter.setAttribute('aria-label', TEXTS.filterOf(displayName));
    this.filter.title = `${TEXTS.filterOf(displayName)} (Alt+↓)`;
    this.filter.classList.toggle('live-on', headers.isFiltered(this.column));
    eGridHeader.setAttribute('aria-sort', direction);
  }

  destroy(): void {
    this.params.eGridHeader.removeEventListener('keydown', this.onKey);
    this.params.headers.onScreen.delete(this);
  }

  private get column(): string {
    return this.params.column.getColId();
  }

  private sort(more: boolean): void {
    this.params.headers.sortBy(this.column, more);
  }

  private open(): void {
    this.params.headers.filterBy(this.column, this.params.eGridHeader);
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
