import type { Page } from '@evertable/client';

/**
 * Makes cells flash that just changed. One that flashes already goes on: what changes all the time glows now and then,
 * and does not flicker. The style sheet leaves it out for people who prefer reduced motion.
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
      if (names.has(cell.getAttribute('col-id') ?? '')) cell.classList.add('live-flash');
    }
  }
}

/** Lets cells flash again once they have. */
export function forgetFlashes(host: HTMLElement): void {
  host.addEventListener('animationend', ({ target }) => {
    if (target instanceof Element) target.classList.remove('live-flash');
  });
}
