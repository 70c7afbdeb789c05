import {
  type BaseHarnessFilters,
  ComponentHarness,
  HarnessPredicate,
  type TestElement,
} from '@angular/cdk/testing';
import { cellSelector, headerSelector } from '../ag-grid.js';

/** Drives a `<live-table>` in tests, as a user would. */
export class LiveTableHarness extends ComponentHarness {
  static readonly hostSelector = 'live-table';

  static with(options: BaseHarnessFilters = {}): HarnessPredicate<LiveTableHarness> {
    return new HarnessPredicate(LiveTableHarness, options);
  }

  /** Returns the status line. */
  async stateText(): Promise<string> {
    return this.text('.live-status');
  }

  /** Returns the text in place of rows; null if there are rows. */
  async placard(): Promise<string | null> {
    const placard = await this.locatorForOptional('.live-placard p')();
    return placard ? placard.text() : null;
  }

  /** Returns `rows 1–20 of 1,000`. */
  async rangeText(): Promise<string> {
    return this.text('.live-range');
  }

  /** Returns the number of rows of the table, on screen or not. */
  async rowCount(): Promise<number> {
    const total = / of (.+)$/.exec(await this.rangeText())?.[1] ?? '0';
    return Number(total.replace(/\D/g, ''));
  }

  /** Returns the names of the columns on screen, from left to right. */
  async columnNames(): Promise<string[]> {
    const labels = await this.locatorForAll('.live-head-sort')();
    return Promise.all(labels.map((label) => label.text()));
  }

  /** Returns the text of a cell; null if it is not on screen. Rows count from 0. */
  async cellText(row: number, column: string): Promise<string | null> {
    const cell = await this.locatorForOptional(cellSelector(row, column))();
    return cell ? cell.text() : null;
  }

  /** Clicks a column's header; with `more`, the shift key is held, which keeps the other sort keys. */
  async sort(column: string, more = false): Promise<void> {
    const label = await this.locatorFor(`${headerSelector(column)} .live-head-sort`)();
    await label.click(0, 0, { shift: more });
  }

  /** Returns how a column is sorted: ascending, descending or none. */
  async sortOf(column: string): Promise<string | null> {
    return (await this.locatorFor(headerSelector(column))()).getAttribute('aria-sort');
  }

  /** Types a filter into the box, and applies it. */
  async filter(filter: string): Promise<void> {
    const box = await this.locatorFor('live-filter-box input')();
    await box.setInputValue(filter);
    await this.click('live-filter-box button[type=submit]');
  }

  /** Returns the error of the filter; null if there is none. */
  async filterError(): Promise<string | null> {
    const error = await this.locatorForOptional('live-filter-box .live-error')();
    return error ? error.text() : null;
  }

  /** Filters a column through its header: `filterColumn('balance', 'between', '1', '5')`. */
  async filterColumn(column: string, operator: string, ...values: string[]): Promise<void> {
    await this.click(`${headerSelector(column)} .live-head-filter`);
    const select = await this.locatorFor('live-column-filter select')();
    await select.setInputValue(operator);
    await select.dispatchEvent('change');
    const boxes: TestElement[] = await this.locatorForAll('live-column-filter input')();
    for (const [at, value] of values.entries()) await boxes[at]?.setInputValue(value);
    await this.click('live-column-filter button[type=submit]');
  }

  async first(): Promise<void> {
    await this.click('live-pager button:nth-of-type(1)');
  }

  async previous(): Promise<void> {
    await this.click('live-pager button:nth-of-type(2)');
  }

  async next(): Promise<void> {
    await this.click('live-pager button:nth-of-type(3)');
  }

  async last(): Promise<void> {
    await this.click('live-pager button:nth-of-type(4)');
  }

  /** Goes to a row. Rows count from 1 here, as on screen. */
  async goTo(row: number): Promise<void> {
    const box = await this.locatorFor('live-pager input')();
    await box.setInputValue(String(row));
    await (await this.locatorFor('live-pager form')()).dispatchEvent('submit');
  }

  /** Clicks a button by its name: `press('Refresh')`. */
  async press(text: string): Promise<void> {
    for (const button of await this.locatorForAll('button')()) {
      const name = (await button.getAttribute('aria-label')) ?? (await button.text());
      if (name === text) return button.click();
    }
    throw new Error(`There is no button '${text}' in the table.`);
  }

  private async text(selector: string): Promise<string> {
    return (await this.locatorFor(selector)()).text();
  }

  private async click(selector: string): Promise<void> {
    await (await this.locatorFor(selector)()).click();
  }
}
