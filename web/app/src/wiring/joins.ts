/** The four joins, in a line each. `left` and `right` are the names of the sources. */
export interface Join {
  readonly type: string;
  readonly words: string;
}

export function joins(left: string, right: string): readonly Join[] {
  return [
    { type: 'left', words: `each match, and each of ${left} without one` },
    { type: 'inner', words: 'each match, and nothing else' },
    { type: 'natural', words: `each of ${left} once, with its newest of ${right}` },
    { type: 'asof', words: `each of ${right} once, with ${left} as it was at that time` },
  ];
}
