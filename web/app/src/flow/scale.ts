/** Geometry of a line chart. */

export type Lines = readonly (readonly (readonly [number, number])[])[];

export interface Point {
  readonly at: number;
  readonly value: number;
}

/** Returns the next of 1, 2, 5, 10, 20 … that is not below the value, and at least `least`. */
export function ceiling(value: number, least = 1): number {
  if (!(value > least)) return least;
  const step = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].map((times) => times * step).find((top) => top >= value) ?? value;
}

/** Returns lines in chart coordinates, with the newest point at the right edge; a gap over `gapMs` breaks a line. */
export function linesOf(
  points: readonly Point[],
  chart: {
    readonly width: number;
    readonly height: number;
    readonly top: number;
    readonly windowMs: number;
    readonly gapMs: number;
  },
): Lines {
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

/** Returns `M0,10 L5,8 …` for an SVG path; a single point becomes a short dash, or it would be invisible. */
export function strokePath(lines: Lines): string {
  return lines
    .map((line) => {
      const [first] = line;
      const drawn = line.length === 1 && first ? [[round(first[0] - 1), first[1]], first] : line;
      return drawn.map(([x, y], place) => `${place ? 'L' : 'M'}${x},${y}`).join(' ');
    })
    .join(' ');
}

/** Returns the path of the areas below the lines. */
export function areaPath(lines: Lines, height: number): string {
  return lines
    .filter((line) => line.length > 1)
    .map((line) => `${strokePath([line])} L${line.at(-1)?.[0]},${height} L${line[0]?.[0]},${height} Z`)
    .join(' ');
}

function round(value: number): number {
  return Math.round(value * 100) / 100;
}
