"""The content of several changelog records, as Arrow batches."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

MATCHES = pa.schema(
    [
        pa.field("left", pa.int64(), nullable=False),
        pa.field("right", pa.int64(), nullable=False),
        pa.field("order_ts", pa.int64(), nullable=False),
    ]
)
REJECTS = pa.schema(
    [
        pa.field("side", pa.uint8(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("timestamp", pa.int64(), nullable=False),
        pa.field("reason", pa.string(), nullable=False),
        pa.field("raw", pa.binary()),
    ]
)


def empty_batch(schema: pa.Schema) -> pa.RecordBatch:
    """Returns a batch without rows."""
    return pa.RecordBatch.from_arrays([pa.array([], field.type) for field in schema], schema=schema)


NO_MATCHES = empty_batch(MATCHES)
NO_REJECTS = empty_batch(REJECTS)


@dataclass(frozen=True)
class Changes:
    """Rows per source, matches and rejects, each in the order in which they were read, with repeats.

    - ``rows[side]``: ``_id`` (row id), ``_ts`` (the record's timestamp in ms), then the source's columns as configured;
    - ``matches``: ``left``, ``right`` (row ids), ``order_ts`` (in ms, of the chosen row: the right one in ``natural``,
      the left one in ``asof``; 0 in ``inner`` and ``left``, where empty_batch is chosen);
    - ``rejects``: ``side``, ``partition``, ``offset``, ``timestamp`` (ms), ``reason``, ``raw`` (null for a tombstone).

    A configured column may itself be called ``_id`` or ``_ts``, so read these two by index, not by name.
    """

    rows: tuple[pa.RecordBatch, pa.RecordBatch]
    matches: pa.RecordBatch
    rejects: pa.RecordBatch
    records: int
    """The number of changelog records that were decoded."""
