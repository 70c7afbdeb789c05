"""Encodes changelog records one at a time; in production the engine does that, in Java."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from itertools import accumulate, islice
from typing import Any, NamedTuple

from evertable.changelog.ids import MAX_OFFSET, MAX_PARTITION, OFFSET_BITS
from evertable.changelog.schema import (
    MAX_MATCHES,
    MAX_RAW,
    TEXT,
    VERSION,
    ChangelogSchema,
    MatchMode,
    RecordKind,
    RejectMode,
    Side,
    SourcePartition,
)
from evertable.schema.columns import ColumnType, Kind

_HEADER = struct.Struct("<BBBBIqqi")
_PACKED = {Kind.BOOLEAN: "<?", Kind.INT: "<i", Kind.LONG: "<q", Kind.FLOAT: "<f", Kind.DOUBLE: "<d"}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EXACT = Context(prec=100)


class Match(NamedTuple):
    """A row of the other side; its timestamp is written only if the join orders by it."""

    id: int
    timestamp: int


class SourceRef(NamedTuple):
    """The source record that a changelog record is about."""

    side: Side
    partition: int
    offset: int
    timestamp: int


def row_id(partition: int, offset: int) -> int:
    """Returns the id of one record; ValueError if it has none."""
    if not (0 <= partition <= MAX_PARTITION and 0 <= offset <= MAX_OFFSET):
        raise ValueError(f"partition {partition}, offset {offset} does not fit into a row id")
    return partition << OFFSET_BITS | offset


class Encoder:
    """Encodes the records of one generation's changelog."""

    def __init__(self, schema: ChangelogSchema) -> None:
        self.schema = schema

    def row(self, of: SourceRef, values: Sequence[Any], matches: Sequence[Match] = ()) -> bytes:
        """Encodes a row: its values in column order (None is null), and the rows it matches."""
        columns = self.schema.layouts[of.side].columns
        nulls, fixed, text = 0, b"", b""
        for i, (column, value) in enumerate(zip(columns, values, strict=True)):
            nulls |= (value is None) << i
            if column.type.kind in TEXT:
                text += b"" if value is None else value.encode()
                fixed += struct.pack("<I", len(text))
            else:
                fixed += _fixed(column.type, value)
        head = nulls.to_bytes((len(columns) + 7) // 8, "little") + fixed
        return self._header(RecordKind.ROW, of, matches) + head + text + self._matches(of, matches)

    def matches(self, of: SourceRef, matches: Sequence[Match]) -> bytes:
        """Encodes matches that did not fit into their row's own record."""
        return self._header(RecordKind.MATCHES, of, matches) + self._matches(of, matches)

    def row_in_chunks(
        self, of: SourceRef, values: Sequence[Any], matches: Iterable[Match], chunk: int = MAX_MATCHES
    ) -> Iterator[bytes]:
        """Encodes a row and as many further records as its matches need."""
        remaining = iter(matches)
        yield self.row(of, values, list(islice(remaining, chunk)))
        while part := list(islice(remaining, chunk)):
            yield self.matches(of, part)

    def reject(self, of: SourceRef, reason: str, raw: bytes | None) -> bytes:
        """Encodes a record that could not become a row; ``raw`` is its value, None for a tombstone."""
        mode = RejectMode.TOMBSTONE if raw is None else RejectMode.VALUE
        text = reason.encode()
        return _header(RecordKind.REJECT, of, mode, len(text)) + text + (raw or b"")[:MAX_RAW]

    def quarantined_row(self, of: SourceRef, values: Sequence[Any]) -> bytes:
        """Encodes a row whose key has too many matches."""
        row = self.row(of, values)
        return row[:3] + bytes([MatchMode.QUARANTINED]) + row[4:]

    def quarantine(self, key: bytes, side: Side, ids: Sequence[int]) -> bytes:
        """Encodes rows of a key that has too many matches."""
        head = _HEADER.pack(VERSION, RecordKind.QUARANTINE, side, 0, len(ids), 0, 0, 0)
        return head + struct.pack("<I", len(key)) + key + b"".join(struct.pack("<q", each) for each in ids)

    def barrier(self, ends: Mapping[SourcePartition, int], channel: int = 0, channels: int = 1) -> bytes:
        """Encodes a barrier, of a changelog with one partition."""
        entries = (struct.pack("<IIq", side, partition, end) for (side, partition), end in ends.items())
        head = _HEADER.pack(VERSION, RecordKind.BARRIER, 0, 0, len(ends), 0, 0, 0)
        return head + struct.pack("<4I", channel, channels, 0, 1) + b"".join(entries)

    def _header(self, kind: RecordKind, of: SourceRef, matches: Sequence[Match]) -> bytes:
        return _header(kind, of, self.schema.match_mode(of.side) if matches else MatchMode.NONE, len(matches))

    def _matches(self, of: SourceRef, matches: Sequence[Match]) -> bytes:
        if self.schema.match_mode(of.side) is MatchMode.IDS:
            return b"".join(struct.pack("<q", match.id) for match in matches)
        return b"".join(struct.pack("<qq", match.id, match.timestamp) for match in matches)


def batch(records: Sequence[bytes]) -> bytes:
    """Encodes several records as one message."""
    head = _HEADER.pack(VERSION, RecordKind.BATCH, 0, 0, len(records), 0, 0, 0)
    ends = accumulate(map(len, records))
    return head + b"".join(struct.pack("<I", end) for end in ends) + b"".join(records)


def _header(kind: RecordKind, of: SourceRef, mode: int, count: int) -> bytes:
    return _HEADER.pack(VERSION, kind, of.side, mode, count, of.offset, of.timestamp, of.partition)


def _fixed(column: ColumnType, value: Any) -> bytes:
    """Encodes a column's fixed entry; zero if the value is null."""
    match column.kind:
        case Kind.DECIMAL:
            unscaled = int(Decimal(value or 0).scaleb(column.scale, _EXACT))
            return unscaled.to_bytes(16, "little", signed=True)
        case Kind.DATE:
            return struct.pack("<i", 0 if value is None else (value - date(1970, 1, 1)).days)
        case Kind.TIMESTAMP:
            return struct.pack("<q", 0 if value is None else (value - _EPOCH) // timedelta(microseconds=1))
        case kind:
            return struct.pack(_PACKED[kind], value or 0)
