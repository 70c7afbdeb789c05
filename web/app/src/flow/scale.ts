/** Where things go in a chart: pure. */

export interface Point {
  readonly at: number;
  readonly value: number;
}

/** The next of 1, 2, 5, 10, 20 … that the value fits under; never below `least`. */
export function ceiling(value: number, least = 1): number {
  if (!(value > least)) return least;
  const step = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((times) => times * step).find((top) => top >= value) ?? value;
}

/** Lines of points in chart coordinates, newest at the right edge; a gap longer than `gapMs` breaks the line. */
export function runs(
  points: readonly Point[],
  chart: {
    readonly width: number;
    readonly height: number;
    readonly top: number;
    readonly windowMs: number;
    readonly gapMs: number;
  },
): readonly (readonly (readonly [number, number])[])[] {
  const end = points.at(-1)?.at ?? 0;
  const lines: [number, number][][] = [];
  let last = Number.NEGATIVE_INFINITY;
  for (const { at, value } of points) {
    if (at - last > chart.gapMs) lines.push([]);
    const x = chart.width * (1 - (end - at) / chart.windowMs);
    const y = chart.height * (1 - Math.min(Math.max(value / chart.top, 0), 1));
    lines.at(-1)?.push([round(x), round(y)]);
    last = at;
  }
  return lines;
}

/** `M0,10 L5,8 …` for an SVG path; a lone point is a short dash, or it would not show. */
export function stroke(lines: readonly (readonly (readonly [number, number])[])[]): string {
  return lines
    .map((line) => {
      const [first] = line;
      const drawn = line.length === 1 && first ? [[round(first[0] - 1), first[1]], first] : line;
      return drawn.map(([x, y], place) => `${place ? 'L' : 'M'}${x},${y}`).join(' ');
    })
    .join(' ');
}

/** The same, closed along the bottom, to be filled. */
export function area(lines: readonly (readonly (readonly [number, number])[])[], height: number): string {
  return lines
    .filter((line) => line.length > 1)
    .map((line) => `${stroke([line])} L${line.at(-1)?.[0]},${height} L${line[0]?.[0]},${height} Z`)
    .join(' ');
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
