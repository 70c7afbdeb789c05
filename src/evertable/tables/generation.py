"""Folds one generation's changelog into its tables: both sources, the joined table and the dead letters."""

from __future__ import annotations

import re
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from decimal import Decimal

import numpy as np
import pyarrow as pa

from evertable.changelog.changes import Changes
from evertable.changelog.ids import Ints, row_ids
from evertable.changelog.schema import TEXT, Side, arrow_type
from evertable.config.models import Source
from evertable.schema.columns import Column, Kind, parse_columns
from evertable.schema.joins import JoinType, joined_columns
from evertable.tables.bounded import BoundedRow, BoundedTable
from evertable.tables.joined_table import JoinedTable
from evertable.tables.joins import JOINS
from evertable.tables.numbering import Numbering
from evertable.tables.source import TIMESTAMP, SourceTable
from evertable.tables.waiting import WaitingMatches

MAX_DEAD_LETTERS = 10_000
TOO_MANY_MATCHES = "TOO_MANY_MATCHES"

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

    If keys turn out to have too many matches, those that were shown disappear: ``joined`` becomes another table, and
    ``on_quarantine`` is called with the reasons. Viewers of the earlier table go on seeing it as it was.
    """

    def __init__(
        self,
        left: Source,
        right: Source,
        join: JoinType,
        on_change: Callable[[], None] = lambda: None,
        on_quarantine: Callable[[Sequence[str]], None] = lambda reasons: None,
    ) -> None:
        self.lock = threading.RLock()
        self.inputs = (left, right)
        self.join = join
        self.has_matches = False
        """Whether any row of one source has matched one of the other."""
        self.rejects_by_column: tuple[Counter[str], Counter[str]] = (Counter(), Counter())
        """For each source, the number of records that were rejected because of a column, by its name."""
        self._on_change = on_change
        self._on_quarantine = on_quarantine
        self._quarantined = (Numbering(), Numbering())
        self._quarantined_keys: set[bytes] = set()
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
            parts = (*self.sources, self.joined, self.dead_letters, *self._rejected, *self._waiting, *self._quarantined)
            return sum(part.nbytes for part in parts)

    def fold(self, changes: Changes) -> bool:
        """Adds what is new in these changes; returns whether anything was."""
        with self.lock:
            version = self.joined.version + 1
            before = len(self.joined.index)
            fresh = [self._add_rows(side, changes.rows[side], version) for side in Side]
            grown = len(self.joined.index) > before
            added = [self._quarantined[side].add(changes.quarantined[side]).any() for side in Side]
            matched = self._add_matches(changes.matches, fresh, version)
            if is_hiding := any(added) and self.has_matches:
                self._hide_matches(version)
            if grown or matched:
                self.joined.version = version
            rejected = self._add_rejects(changes.rejects)
            reasons = self._add_quarantined_keys(changes.quarantined_keys)
        changed = matched or rejected or is_hiding or bool(reasons) or any(map(len, fresh))
        if changed:
            self._on_change()
        if is_hiding or reasons:
            self._on_quarantine(reasons)
        return changed

    def _hide_matches(self, version: int) -> None:
        """Replaces the joined table by one without the matches of quarantined keys."""
        hidden = tuple(np.zeros(source.extent.total, bool) for source in self.sources)
        for mask, source, ids in zip(hidden, self.sources, self._quarantined, strict=True):
            slots = source.slots(ids.keys)
            mask[slots[slots >= 0]] = True
        self.joined = self.joined.with_index(self.joined.index.without((hidden[0], hidden[1]), version), version)

    def _add_quarantined_keys(self, keys: Sequence[bytes]) -> list[str]:
        """Lists new ones in the dead letters, and returns the reasons."""
        fresh = [key for key in keys if key not in self._quarantined_keys]
        self._quarantined_keys.update(fresh)
        left, right = self.inputs
        reasons = [
            f"{TOO_MANY_MATCHES}: the key {_shown_key(left, key)} has more than join.max_matches" for key in fresh
        ]
        names, topics = f"{left.name}, {right.name}", f"{left.topic}, {right.topic}"
        self.dead_letters.append(
            [
                (names, topics, None, None, "", reason, _shown_key(left, key))
                for reason, key in zip(reasons, fresh, strict=True)
            ]
        )
        return reasons

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
        if len(self._quarantined[Side.LEFT]) or len(self._quarantined[Side.RIGHT]):
            is_hidden = [self._quarantined[side].find(matches[side]) >= 0 for side in Side]
            matches = matches[:, ~(is_hidden[0] | is_hidden[1])]
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


def _shown_key(source: Source, key: bytes) -> str:
    """Returns a key as people write it; texts are quoted."""
    column = source.key_column
    if column.type.kind in TEXT:
        return repr(key.decode("utf-8", "replace"))
    if column.type.kind is Kind.DECIMAL:
        return str(Decimal(int.from_bytes(key, "little", signed=True)).scaleb(-column.type.scale))
    return str(pa.Array.from_buffers(arrow_type(column.type), 1, [None, pa.py_buffer(key)])[0].as_py())


def _iso(ms: int) -> str:
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):
        return f"{ms} ms"  # outside of the calendar, which may be why the record was rejected
