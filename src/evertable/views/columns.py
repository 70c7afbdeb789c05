"""The columns that an order is computed from."""

from __future__ import annotations

import pyarrow as pa

from evertable.tables.table import Snapshot


class Columns:
    """A snapshot's columns, each asked for once: a joined table has to gather them, and a filter may name one often."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.total = snapshot.extent.total
        self._snapshot = snapshot
        self._known: dict[int, pa.ChunkedArray] = {}

    def column(self, index: int) -> pa.ChunkedArray:
        if index not in self._known:
            self._known[index] = self._snapshot.column(index)
        return self._known[index]
