"""Row ids: a source record's partition and offset in one number that sorts like the pair."""

from __future__ import annotations

from typing import Any, overload

import numpy as np
import numpy.typing as npt

PARTITION_BITS = 19
OFFSET_BITS = 44
MAX_PARTITION = (1 << PARTITION_BITS) - 1
MAX_OFFSET = (1 << OFFSET_BITS) - 1

Ints = npt.NDArray[np.int64]


@overload
def row_id(partition: int, offset: int) -> int: ...
@overload
def row_id(partition: npt.NDArray[Any], offset: npt.NDArray[Any]) -> Ints: ...
def row_id(partition: int | npt.NDArray[Any], offset: int | npt.NDArray[Any]) -> int | Ints:
    """The id of a record, or of many at once; ValueError if one of them has none."""
    if isinstance(partition, np.ndarray) or isinstance(offset, np.ndarray):
        partitions, offsets = np.asarray(partition, np.int64), np.asarray(offset, np.int64)
        fits = has_row_id(partitions, offsets)
        if not fits.all():
            worst = int(np.argmin(fits))
            raise _without_id(int(partitions[worst]), int(offsets[worst]))
        return pack(partitions, offsets)
    if not (0 <= partition <= MAX_PARTITION and 0 <= offset <= MAX_OFFSET):
        raise _without_id(partition, offset)
    return partition << OFFSET_BITS | offset


@overload
def partition_and_offset(row: int) -> tuple[int, int]: ...
@overload
def partition_and_offset(row: Ints) -> tuple[Ints, Ints]: ...
def partition_and_offset(row: int | Ints) -> tuple[int, int] | tuple[Ints, Ints]:
    """The inverse of :func:`row_id`, for one id or for many at once."""
    return row >> OFFSET_BITS, row & MAX_OFFSET  # type: ignore[return-value]  # the overloads say which of the two


def has_row_id(partitions: npt.NDArray[Any], offsets: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Which of these records fit into an id; the others can only be rejects."""
    fits: npt.NDArray[np.bool_] = (
        (partitions >= 0) & (partitions <= MAX_PARTITION) & (offsets >= 0) & (offsets <= MAX_OFFSET)
    )
    return fits


def pack(partitions: npt.NDArray[Any], offsets: npt.NDArray[Any]) -> Ints:
    """Ids of records that are known to have one."""
    packed: Ints = (partitions.astype(np.int64) << OFFSET_BITS) | offsets
    return packed


def _without_id(partition: int, offset: int) -> ValueError:
    return ValueError(f"partition {partition}, offset {offset} does not fit into a row id")
