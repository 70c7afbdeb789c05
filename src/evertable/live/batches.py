"""Takes rows out of tables in pieces, so that no step is long however large the texts are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from evertable.tables.pieces import Check, never, pieces
from evertable.tables.table import Readable, Slots

MAX_ROWS = 8_192
HEAVY_BYTES = 4 << 20
"""Of text in a page: more is read off the event loop, and without holding the table's lock."""


def batches(
    rows: Readable, slots: Slots, columns: Sequence[int], check: Check = never, max_bytes: int = HEAVY_BYTES
) -> Iterator[pa.RecordBatch]:
    """Yields the rows of these slots, in that order; calls ``check`` before each piece."""
    for start, stop in pieces(rows, slots, columns, MAX_ROWS, max_bytes):
        check()
        yield rows.take(slots[start:stop], columns)


def is_heavy(rows: Readable, slots: Slots, columns: Sequence[int]) -> bool:
    """Whether these rows have more text than is read in one step."""
    return int(rows.text_bytes(slots, columns).sum()) > HEAVY_BYTES
