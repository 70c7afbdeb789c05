"""A model of the keyed operator: turns source records, in any order, into changelog records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from tests.changelog.encoder import Encoder, Match, SourceRef, row_id
from tests.reference.joins import most_matches
from tests.reference.outcome import Placed
from tests.reference.records import Reject, SourceRecord, meaning

from evertable.changelog.schema import ChangelogSchema, Side
from evertable.schema.joins import JoinType


class Member(NamedTuple):
    """A row in the operator's state; the newest is the greatest."""

    timestamp: int
    id: int


class ModelOperator:
    """Writes each row with the earlier rows that it matches, at most ``chunk`` of them in one record."""

    def __init__(
        self, schema: ChangelogSchema, keys: tuple[str, str], chunk: int = 2, max_matches: int | None = None
    ) -> None:
        self._schema = schema
        self._encoder = Encoder(schema)
        self._keys = keys
        self._chunk = chunk
        self._max_matches = max_matches
        self._quarantined: set[Any] = set()
        self._members: dict[Any, tuple[list[Member], list[Member]]] = defaultdict(lambda: ([], []))

    def run(self, records: Iterable[Placed]) -> list[bytes]:
        return [written for side, record in records for written in self._process(side, record)]

    def _process(self, side: Side, record: SourceRecord) -> Iterator[bytes]:
        of = SourceRef(side, record.partition, record.offset, record.timestamp)
        columns = self._schema.layouts[side].columns
        values = meaning(record, columns)
        if isinstance(values, Reject):
            yield self._encoder.reject(of, f"{values.condition}: see {values.column}", record.value)
            return
        key = values[[column.name for column in columns].index(self._keys[side])]
        row = Member(record.timestamp, row_id(record.partition, record.offset))
        matches: list[Member] = []
        if key is not None and key not in self._quarantined:
            members = self._members[key]
            matches = self._matches(side, row, *members)
            members[side].append(row)
            most = most_matches(self._schema.join, *map(len, members))
            if self._max_matches is not None and most > self._max_matches:
                self._quarantined.add(key)
                for at in Side:
                    for start in range(0, len(members[at]), self._chunk):
                        ids = [member.id for member in members[at][start : start + self._chunk]]
                        yield self._encoder.quarantine(str(key).encode(), at, ids)
        if key in self._quarantined:
            yield self._encoder.quarantined_row(of, values)
            return
        yield from self._encoder.row_in_chunks(of, values, (Match(m.id, m.timestamp) for m in matches), self._chunk)

    def _matches(self, side: Side, row: Member, left: list[Member], right: list[Member]) -> list[Member]:
        """Returns the matches of the row among earlier rows."""
        match self._schema.join, side:
            case ((JoinType.INNER | JoinType.LEFT), _):
                return right if side is Side.LEFT else left
            case JoinType.NATURAL, Side.LEFT:
                return [max(right)] if right else []
            case JoinType.NATURAL, Side.RIGHT:
                return left if row > max(right, default=Member(-1, -1)) else []
            case JoinType.ASOF, Side.LEFT:
                return [other for other in right if self._is_newer(row, other, left)]
            case JoinType.ASOF, Side.RIGHT:
                before = [one for one in left if one.timestamp <= row.timestamp]
                return [max(before)] if before else []
        raise AssertionError(self._schema.join)

    @staticmethod
    def _is_newer(row: Member, other: Member, left: list[Member]) -> bool:
        """Whether a late left row is the correct match of an earlier right row."""
        before = [one for one in left if one.timestamp <= other.timestamp]
        return row.timestamp <= other.timestamp and row > max(before, default=Member(-1, -1))
