"""Decodes many changelog messages at once to Arrow, without a Python loop over their records."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from evertable.changelog.block import Array, Block, Origin, records_of, require_version
from evertable.changelog.changes import MATCHES, NO_IDS, NO_MATCHES, NO_REJECTS, REJECTS, Barrier, Changes
from evertable.changelog.ids import Ints, has_row_id, row_ids
from evertable.changelog.rows import decode_rows
from evertable.changelog.schema import (
    BARRIER_END,
    CHANNEL,
    HEADER,
    MAX_RAW,
    ChangelogSchema,
    MatchMode,
    RecordKind,
    RejectMode,
    Side,
)

_LONG = np.dtype("<i8")
_KEY = np.dtype("<u4")
"""The length of a quarantined key."""

# numpy compares plain numbers much faster than members of an enum
_ROW, _MATCHES, _REJECT = int(RecordKind.ROW), int(RecordKind.MATCHES), int(RecordKind.REJECT)
_BARRIER, _QUARANTINE = int(RecordKind.BARRIER), int(RecordKind.QUARANTINE)
_LEFT = int(Side.LEFT)
_NONE_MODE, _TIMED = int(MatchMode.NONE), int(MatchMode.IDS_WITH_TIMES)
_QUARANTINED = int(MatchMode.QUARANTINED)
_TOMBSTONE = int(RejectMode.TOMBSTONE)


class Decoder:
    """Decodes the records of one generation's changelog."""

    def __init__(self, schema: ChangelogSchema) -> None:
        self.schema = schema
        self._match_modes = np.array([schema.match_mode(side) for side in Side], np.uint8)

    def decode(self, values: Sequence[bytes | None], origin: Origin = "record {}".format) -> Changes:
        """Decodes these messages; raises ChangelogError for the first one that this version cannot read.

        ``origin`` describes, for that error, where the i-th message was read.
        """
        block = records_of(Block.end_to_end(values, origin))
        block.require(block.lengths >= HEADER.itemsize, lambda i: f"has only {block.lengths[i]} bytes")
        header = block.gather(block.starts, HEADER)
        self._check(block, header)

        kind, side = header["kind"], header["side"]
        is_row, is_reject = kind == _ROW, kind == _REJECT
        tails = block.starts + HEADER.itemsize  # where the matches begin; decode_rows moves it after the columns
        left, right = (
            decode_rows(block, layout, np.flatnonzero(is_row & (side == int(at))), tails)
            for at, layout in zip(Side, self.schema.layouts, strict=True)
        )
        matches = self._matches(block, np.flatnonzero(is_row | (kind == _MATCHES)), tails)
        rejects = _rejects(block, np.flatnonzero(is_reject))
        barriers = tuple(_barrier(block, int(i)) for i in np.flatnonzero(kind == _BARRIER))
        keys, quarantined = _quarantined(block, header)
        return Changes((left, right), matches, rejects, len(block.starts), barriers, quarantined, keys)

    def _check(self, block: Block, header: Array) -> None:
        kind, side, mode = header["kind"], header["side"], header["mode"]
        partition, offset = header["partition"], header["offset"]
        require_version(block, header)
        is_known_kind = ((kind >= 1) & (kind <= 3)) | (kind == _BARRIER) | (kind == _QUARANTINE)
        block.require(is_known_kind, lambda i: f"has the unknown kind {kind[i]}")
        block.require(side <= 1, lambda i: f"has the unknown side {side[i]}")
        is_reject = kind == _REJECT
        is_match_mode = (mode == _NONE_MODE) | (mode == self._match_modes[side])
        is_known = np.where(is_reject, mode <= 1, is_match_mode | ((kind == _ROW) & (mode == _QUARANTINED)))
        block.require(
            is_known, lambda i: f"has mode {mode[i]}, which its kind and side do not have in {self.schema.join} joins"
        )
        is_possible = np.where(is_reject, (partition >= 0) & (offset >= 0), has_row_id(partition, offset))
        block.require(is_possible, "has an impossible partition or offset")

    def _matches(self, block: Block, records: Ints, tails: Ints) -> pa.RecordBatch:
        """Returns the matches of rows and of kind 2; requires the exact length of these records."""
        header, begins = block.gather(block.starts[records], HEADER), tails[records]
        counts, timed = header["count"].astype(np.int64), header["mode"] == _TIMED
        width, room = np.where(timed, 16, 8), block.ends[records] - begins
        block.require(
            (counts * width == room)
            & (((header["mode"] != _NONE_MODE) & (header["mode"] != _QUARANTINED)) | (counts == 0)),
            lambda i: f"has {room[i]} bytes for {counts[i]} matches in mode {header['mode'][i]}",
            at=records,
        )
        total = int(counts.sum())
        if total == 0:
            return NO_MATCHES
        nth = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
        at = np.repeat(begins, counts) + nth * np.repeat(width, counts)
        other = block.gather(at, _LONG)
        block.require(other >= 0, "matches a negative row id", at=np.repeat(records, counts))
        own = np.repeat(row_ids(header["partition"], header["offset"]), counts)
        from_left = np.repeat(header["side"] == _LEFT, counts)
        order = np.repeat(header["timestamp"], counts)
        if self.schema.chosen is None:
            order[:] = 0
        elif timed.any():
            beside = np.flatnonzero(np.repeat(timed, counts))
            order[beside] = block.gather(at[beside] + _LONG.itemsize, _LONG)
        columns = np.where(from_left, own, other), np.where(from_left, other, own), order
        return pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema=MATCHES)


def _barrier(block: Block, record: int) -> Barrier:
    """Decodes one barrier; there are few."""
    at, start = np.array([record]), block.starts[record] + HEADER.itemsize
    count = int(block.gather(block.starts[at], HEADER)["count"][0])
    room = int(block.lengths[record]) - HEADER.itemsize - CHANNEL.itemsize
    fits = np.array([room == count * BARRIER_END.itemsize])
    block.require(fits, f"has {room} bytes for the {count} ends of a barrier", at=at)
    channel = block.gather(np.array([start]), CHANNEL)[0]
    ends = block.gather(start + CHANNEL.itemsize + np.arange(count) * BARRIER_END.itemsize, BARRIER_END)
    block.require(np.array([ends["side"].max(initial=0) <= 1]), "has an end of an unknown side", at=at)
    return Barrier(
        int(channel["bucket"]) * int(channel["partitions"]) + int(channel["partition"]),
        int(channel["buckets"]) * int(channel["partitions"]),
        {(Side(int(each["side"])), int(each["partition"])): int(each["end"]) for each in ends},
    )


def _quarantined(block: Block, header: Array) -> tuple[tuple[bytes, ...], tuple[Ints, Ints]]:
    """Returns the keys that have too many matches, and the ids of their rows, of both sides."""
    kind, side = header["kind"], header["side"]
    rows = np.flatnonzero((kind == _ROW) & (header["mode"] == _QUARANTINED))
    facts = np.flatnonzero(kind == _QUARANTINE)
    if not len(rows) and not len(facts):
        return (), (NO_IDS, NO_IDS)
    keys: dict[bytes, None] = {}
    found: tuple[list[Ints], list[Ints]] = ([], [])
    for at in Side:
        own = header[rows[side[rows] == int(at)]]
        found[at].append(row_ids(own["partition"], own["offset"]))
    for record in facts:
        key, ids = _quarantine(block, int(record))
        keys[key] = None
        found[int(side[record])].append(ids)
    left, right = (np.concatenate(each) for each in found)
    return tuple(keys), (left, right)


def _quarantine(block: Block, record: int) -> tuple[bytes, Ints]:
    at, start, end = np.array([record]), int(block.starts[record]), int(block.ends[record])
    content = memoryview(block.data)[start + HEADER.itemsize : end]
    count = int(block.gather(block.starts[at], HEADER)["count"][0])
    named = int.from_bytes(content[: _KEY.itemsize], "little")
    room = len(content) - _KEY.itemsize - named
    block.require(np.array([room == count * _LONG.itemsize]), f"has {room} bytes for {count} quarantined rows", at=at)
    key = bytes(content[_KEY.itemsize : _KEY.itemsize + named])
    ids: Ints = np.frombuffer(content[_KEY.itemsize + named :], _LONG).astype(np.int64)
    block.require(np.array([ids.min(initial=0) >= 0]), "quarantines a negative row id", at=at)
    return key, ids


def _rejects(block: Block, records: Ints) -> pa.RecordBatch:
    if len(records) == 0:
        return NO_REJECTS
    starts, ends = block.starts[records], block.ends[records]
    header, begins = block.gather(starts, HEADER), starts + HEADER.itemsize
    between = begins + header["count"]
    tombstone = header["mode"] == _TOMBSTONE
    kept = ends - between
    block.require(
        (kept >= 0) & (kept <= np.where(tombstone, 0, MAX_RAW)),
        lambda i: f"has a reason of {header['count'][i]} bytes and keeps {kept[i]} of its value",
        at=records,
    )
    reason, raw = block.texts(np.stack([begins, between, ends], axis=1))
    validity = pa.py_buffer(np.packbits(~tombstone, bitorder="little")) if tombstone.any() else None
    columns = [
        pa.array(header["side"]),
        pa.array(header["partition"]),
        pa.array(header["offset"]),
        pa.array(header["timestamp"]),
        pa.Array.from_buffers(pa.string(), len(records), reason.buffers()),
        pa.Array.from_buffers(pa.binary(), len(records), [validity, *raw.buffers()[1:]]),
    ]
    block.require_valid(columns[4], "has a reason that is not valid UTF-8", at=records)
    return pa.RecordBatch.from_arrays(columns, schema=REJECTS)
