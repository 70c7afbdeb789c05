"""Reads rows of tables in batches of bounded size, so that no step takes long."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from evertable.tables.pieces import Check, never, pieces
from evertable.tables.table import Readable, Slots

MAX_ROWS = 8_192
HEAVY_BYTES = 4 << 20
"""A page with more text than this is read on a worker, without holding the table's lock."""


def batches(
    rows: Readable, slots: Slots, columns: Sequence[int], check: Check = never, max_bytes: int = HEAVY_BYTES
) -> Iterator[pa.RecordBatch]:
    """Yields the rows of these slots, in that order; calls ``check`` before each batch."""
    for start, stop in pieces(rows, slots, columns, MAX_ROWS, max_bytes):
        check()
        yield rows.take(slots[start:stop], columns)


def is_heavy(rows: Readable, slots: Slots, columns: Sequence[int]) -> bool:
    """Whether these rows have more text than is read in one step."""
    return int(rows.text_bytes(slots, columns).sum()) > HEAVY_BYTES
