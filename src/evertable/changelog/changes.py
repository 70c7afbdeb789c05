"""The content of several changelog records, as Arrow batches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from evertable.changelog.ids import Ints
from evertable.changelog.schema import SourcePartition

MATCHES = pa.schema([(name, pa.int64()) for name in ("left", "right", "order_ts")])
REJECTS = pa.schema(
    [
        ("side", pa.uint8()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("timestamp", pa.int64()),
        ("reason", pa.string()),
        ("raw", pa.binary()),
    ]
)
NO_MATCHES = pa.RecordBatch.from_pylist([], MATCHES)
NO_IDS: Ints = np.empty(0, np.int64)
NO_REJECTS = pa.RecordBatch.from_pylist([], REJECTS)


@dataclass(frozen=True)
class Barrier:
    """A statement that all about the source records before ``ends`` precedes it in its channel.

    A channel is a state partition of the query and a partition of the changelog; there are ``channels`` of them.
    """

    channel: int
    channels: int
    ends: Mapping[SourcePartition, int]


@dataclass(frozen=True)
class Changes:
    """Rows per source, matches, rejects and barriers, each in the order in which they were read, with repeats.

    - ``rows[side]``: ``_id`` (row id), ``_ts`` (the record's timestamp in ms), then the source's columns as configured;
    - ``matches``: ``left``, ``right`` (row ids), ``order_ts`` (in ms, of the chosen row: the right one in ``natural``,
      the left one in ``asof``; 0 in ``inner`` and ``left``, which choose none);
    - ``rejects``: ``side``, ``partition``, ``offset``, ``timestamp`` (ms), ``reason``, ``raw`` (null for a tombstone).

    A configured column may itself be called ``_id`` or ``_ts``, so read these two by index, not by name.
    """

    rows: tuple[pa.RecordBatch, pa.RecordBatch]
    matches: pa.RecordBatch
    rejects: pa.RecordBatch
    records: int
    """The number of changelog records that were decoded."""
    barriers: tuple[Barrier, ...] = ()
    quarantined: tuple[Ints, Ints] = (NO_IDS, NO_IDS)
    """For each side, ids of rows whose key has too many matches: its matches are hidden, also those written before."""
    quarantined_keys: tuple[bytes, ...] = ()
    """Such keys, as the engine compares them (at most 1,000 bytes of each)."""
