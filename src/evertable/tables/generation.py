"""Folds one generation's changelog into its tables: both sources, the joined table and the dead letters."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import numpy as np
import pyarrow as pa

from evertable.changelog.changes import Changes
from evertable.changelog.ids import Ints, row_ids
from evertable.changelog.schema import Side
from evertable.config.models import Source
from evertable.schema.columns import Column, parse_columns
from evertable.schema.joins import JoinType, joined_columns
from evertable.tables.bounded import BoundedRow, BoundedTable
from evertable.tables.joined_table import JoinedTable
from evertable.tables.joins import JOINS
from evertable.tables.numbering import Numbering
from evertable.tables.source import TIMESTAMP, SourceTable
from evertable.tables.waiting import WaitingMatches

MAX_DEAD_LETTERS = 10_000

_COLUMN = re.compile(r"column '(.*?)'(?= |:)")
"""Finds the column in the reason of a reject."""

DEAD_LETTER_COLUMNS = parse_columns(
    {
        "source": "string",
        "topic": "string",
        "partition": "int",
        "offset": "long",
        "ts": "string",
        "reason": "string",
        "raw": "string",
    }
)


class GenerationTables:
    """The tables of one generation; folding is idempotent and independent of order.

    One thread folds, any number may read. ``on_change`` is called after each fold that changed something.
    """

    def __init__(
        self, left: Source, right: Source, join: JoinType, on_change: Callable[[], None] = lambda: None
    ) -> None:
        self.lock = threading.RLock()
        self.inputs = (left, right)
        self.join = join
        self.has_matches = False
        """Whether any row of one source has matched one of the other."""
        self.rejects_by_column: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
        """For each source, the number of records that were rejected because of a column, by its name."""
        self._on_change = on_change
        self.left = SourceTable(left.columns, self.lock, with_ts=False)
        self.right = SourceTable(right.columns, self.lock, with_ts=join is JoinType.ASOF)
        self.sources = (self.left, self.right)
        self.joined = self._joined_table(join)
        self.dead_letters = BoundedTable(DEAD_LETTER_COLUMNS, MAX_DEAD_LETTERS)
        self._rejected = (Numbering(), Numbering())
        self._waiting = (WaitingMatches(), WaitingMatches())  # for a left row, and for a right row

    @property
    def rejects_by_source(self) -> dict[str, int]:
        """The number of rejected records, including those that ``dead_letters`` no longer shows."""
        return {source.name: len(seen) for source, seen in zip(self.inputs, self._rejected, strict=True)}

    @property
    def nbytes(self) -> int:
        """The approximate memory of all tables."""
        with self.lock:
            parts = (*self.sources, self.joined, self.dead_letters, *self._rejected, *self._waiting)
            return sum(part.nbytes for part in parts)

    def fold(self, changes: Changes) -> bool:
        """Adds what is new in these changes; returns whether anything was."""
        with self.lock:
            version = self.joined.version + 1
            before = len(self.joined.index)
            fresh = [self._add_rows(side, changes.rows[side], version) for side in Side]
            grown = len(self.joined.index) > before
            matched = self._add_matches(changes.matches, fresh, version)
            if grown or matched:
                self.joined.version = version
            rejected = self._add_rejects(changes.rejects)
        changed = matched or rejected or any(map(len, fresh))
        if changed:
            self._on_change()
        return changed

    def _add_rows(self, side: Side, batch: pa.RecordBatch, version: int) -> Ints:
        source = self.sources[side]
        ids = source.add(batch)
        end = source.extent.total
        if len(ids):
            self.joined.index.add_rows(side, end - len(ids), end, version)
        return ids

    def _add_matches(self, batch: pa.RecordBatch, fresh: Sequence[Ints], version: int) -> bool:
        """Adds the matches of a batch, and those that waited for its rows; keeps those whose row is still missing."""
        parts = [np.stack([column.to_numpy() for column in batch.columns])] if batch.num_rows else []
        parts += [part for side in Side for part in self._waiting[side].release(fresh[side])]
        if not parts:
            return False
        matches = np.concatenate(parts, axis=1) if len(parts) > 1 else parts[0]
        left, right = self.left.slots(matches[0]), self.right.slots(matches[1])
        no_left, no_right = left < 0, (left >= 0) & (right < 0)
        complete = ~(no_left | no_right)
        if not complete.all():
            self._waiting[Side.LEFT].add(matches[0, no_left], matches[:, no_left])
            self._waiting[Side.RIGHT].add(matches[1, no_right], matches[:, no_right])
            left, right, matches = left[complete], right[complete], matches[:, complete]
        if not len(left):
            return False
        self.has_matches = True
        return self.joined.index.add_matches((left, right), matches, version)

    def _add_rejects(self, batch: pa.RecordBatch) -> bool:
        if not batch.num_rows:
            return False
        sides = batch.column("side").to_numpy()
        ids = row_ids(batch.column("partition").to_numpy(), batch.column("offset").to_numpy())
        fresh = np.zeros(len(ids), bool)
        for side in Side:
            mine = np.flatnonzero(sides == side)
            fresh[mine] = self._rejected[side].add(ids[mine])
            reasons = batch.column("reason").take(pa.array(mine[fresh[mine]])).to_pylist()
            self.rejects_by_column[side].update(found[1] for reason in reasons if (found := _COLUMN.search(reason)))
        newest = np.flatnonzero(fresh)[-MAX_DEAD_LETTERS:]
        self.dead_letters.append([self._dead_letter(*row.values()) for row in batch.take(pa.array(newest)).to_pylist()])
        return bool(len(newest))

    def _dead_letter(
        self, side: int, partition: int, offset: int, ts: int, reason: str, raw: bytes | None
    ) -> BoundedRow:
        source = self.inputs[side]
        text = None if raw is None else raw.decode("utf-8", "replace")
        return (source.name, source.topic, partition, offset, _iso(ts), reason, text)

    def _joined_table(self, join: JoinType) -> JoinedTable:
        columns, origins = [], []
        for joined in joined_columns(join, *self.inputs):
            side = Side.LEFT if joined.source == self.inputs[0].name else Side.RIGHT
            stored, column = self.inputs[side].columns, joined.column or TIMESTAMP
            columns.append(Column(joined.name, column.type))
            origins.append((side, stored.index(column) if joined.column else len(stored)))
        return JoinedTable(columns, origins, self.sources, JOINS[join]())


def _iso(ms: int) -> str:
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):
        return f"{ms} ms"  # outside of the calendar, which may be why the record was rejected
