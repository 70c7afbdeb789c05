"""Row ids: a source record's partition and offset in one number that sorts by both."""

from __future__ import annotations

from typing import Any, overload

import numpy as np
import numpy.typing as npt

PARTITION_BITS = 19
OFFSET_BITS = 44
MAX_PARTITION = (1 << PARTITION_BITS) - 1
MAX_OFFSET = (1 << OFFSET_BITS) - 1

Ints = npt.NDArray[np.int64]


def row_ids(partitions: npt.NDArray[Any], offsets: npt.NDArray[Any]) -> Ints:
    """Returns the ids of records for which ``has_row_id`` is true."""
    ids: Ints = (partitions.astype(np.int64) << OFFSET_BITS) | offsets
    return ids


def has_row_id(partitions: npt.NDArray[Any], offsets: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Returns which of these records fit into an id; the others can only be rejects."""
    fits: npt.NDArray[np.bool_] = (
        (partitions >= 0) & (partitions <= MAX_PARTITION) & (offsets >= 0) & (offsets <= MAX_OFFSET)
    )
    return fits


@overload
def partition_and_offset(row: int) -> tuple[int, int]: ...
@overload
def partition_and_offset(row: Ints) -> tuple[Ints, Ints]: ...
def partition_and_offset(row: int | Ints) -> tuple[int, int] | tuple[Ints, Ints]:
    """Returns what one id, or each of many, was made of."""
    return row >> OFFSET_BITS, row & MAX_OFFSET  # type: ignore[return-value]  # the overloads say which of the two
