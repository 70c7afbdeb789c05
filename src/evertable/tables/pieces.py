"""Splits rows into pieces of bounded size, so that long work can be stopped between two of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np

from evertable.tables.table import Readable, Slots

Check: TypeAlias = Callable[[], None]
"""Called between pieces of long work; raises if the work should stop."""

_CELL_BYTES = 16  # of a cell without its text


def never() -> None:
    """The check of work that is never stopped."""


def pieces(
    rows: Readable, slots: Slots, columns: Sequence[int], max_rows: int, max_bytes: int
) -> Iterator[tuple[int, int]]:
    """Yields the start and stop of each piece of ``slots``.

    A piece has at most ``max_rows`` rows and about ``max_bytes`` in ``columns``, or it is a single larger row.
    """
    for start in range(0, len(slots), max_rows):
        stop = min(start + max_rows, len(slots))
        ends = np.cumsum(rows.text_bytes(slots[start:stop], columns) + _CELL_BYTES * len(columns))
        at = 0
        while at < len(ends):
            before = int(ends[at - 1]) if at else 0
            end = max(at + 1, int(np.searchsorted(ends, before + max_bytes, "right")))
            yield start + at, start + end
            at = end
