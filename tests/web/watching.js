// Checks a live table at every frame that the browser draws, and collects what must never be seen.
(columns) => {
  const table = document.querySelector('live-table');
  const seen = { frames: 0, marks: [], problems: [] };
  const shown = (selector) => [...document.querySelectorAll(selector)].filter((found) => found.checkVisibility());
  const note = (problem) => seen.problems.includes(problem) || seen.problems.push(problem);
  const check = () => {
    seen.frames += 1;
    if (document.querySelector('live-table') !== table) note('another table element');
    const cells = columns.flatMap((name) => [...table.querySelectorAll(`.ag-row .ag-cell[col-id="${name}"]`)]);
    const marks = new Set(cells.flatMap((cell) => /^[abc]\b/.exec(cell.textContent.trim()) ?? []));
    if (marks.size === 0) note('no rows');
    if (marks.size > 1) note(`rows of ${[...marks].sort().join(' and ')} at once`);
    for (const found of shown('live-table .live-error, live-table .live-placard')) note(`message: ${found.textContent.trim()}`);
    const [mark] = marks;
    if (mark && seen.marks.at(-1) !== mark) seen.marks.push(mark);
    window.evertableWatch = requestAnimationFrame(check);
  };
  window.evertableSeen = seen;
  check();
}
