"""Reads rows of tables in batches of bounded size, so that no step takes long."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa

from evertable.tables.table import Check, Slots, Snapshot, Table, never, pieces

MAX_ROWS = 8_192
HEAVY_BYTES = 4 << 20
"""A page with more text than this is read on a worker, without holding the table's lock."""


class HeavyPageError(Exception):
    """A page has so many rows or so much text that it has to be read on a worker."""


def batches(
    rows: Snapshot, slots: Slots, columns: Sequence[int], check: Check = never, max_bytes: int = HEAVY_BYTES
) -> Iterator[pa.RecordBatch]:
    """Yields the rows of these slots, in that order; calls ``check`` before each batch."""
    for start, stop in pieces(rows, slots, columns, MAX_ROWS, max_bytes):
        check()
        yield rows.take(slots[start:stop], columns)


def read_in_batches(
    table: Table, slots: Slots, columns: Sequence[int], check: Check | None
) -> Iterable[pa.RecordBatch]:
    """Returns rows of a table whose lock the caller holds; if they have much text, it is read later from a snapshot.

    Raises HeavyPageError if that would have to happen where no ``check`` can stop it, as on the event loop.
    """
    if int(table.text_bytes(slots, columns).sum()) <= HEAVY_BYTES:
        return [table.take(slots, columns)]
    if check is None:
        raise HeavyPageError
    return batches(table.snapshot(), slots, columns, check)
