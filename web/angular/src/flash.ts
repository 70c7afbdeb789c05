import type { Page } from '@evertable/client';

/**
 * Makes cells flash that just changed. Two classes in turn: another name starts the animation anew, without asking the
 * browser for a layout in between. The style sheet leaves it out for people who prefer reduced motion.
 */
export function flash(host: HTMLElement, page: Page, cells: readonly (readonly [number, number])[]): void {
  const rows = new Map<number, Set<string>>();
  for (const [row, column] of cells) {
    const names = rows.get(page.offset + row) ?? new Set();
    const name = page.columns[column]?.name;
    if (name !== undefined) rows.set(page.offset + row, names.add(name));
  }
  for (const element of host.querySelectorAll('.ag-row')) {
    const names = rows.get(Number(element.getAttribute('row-index')));
    if (!names) continue;
    for (const cell of element.querySelectorAll('.ag-cell')) {
      if (names.has(cell.getAttribute('col-id') ?? '')) restart(cell.classList);
    }
  }
}

function restart(classes: DOMTokenList): void {
  const again = classes.contains('live-flash');
  classes.toggle('live-flash', !again);
  classes.toggle('live-flash-again', again);
}
