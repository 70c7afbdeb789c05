"""Records in one buffer, read with numpy and Arrow and never outside of a record.

A numpy view with a stride of one byte has an element at *every* byte position. Indexing it with the records' positions
copies their fixed parts, wherever they are; numpy checks the positions. Texts become Arrow strings over the same bytes:
their interleaved bounds are one long offsets array, of which ``take`` picks every n-th string.

A message is one record or a batch of them; ``records_of`` splits messages without a Python loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from evertable.changelog.ids import Ints
from evertable.changelog.schema import HEADER, VERSION, RecordKind
from evertable.errors import ChangelogError

MAX_BYTES = 2**31 - 1
"""The maximum size of a block: Arrow's strings have 32-bit offsets."""

_BATCH = int(RecordKind.BATCH)
_ABOUT_NO_RECORD = (RecordKind.BATCH, RecordKind.BARRIER, RecordKind.QUARANTINE)
_END = np.dtype("<u4")

Array = npt.NDArray[Any]
Bools = npt.NDArray[np.bool_]
Origin = Callable[[int], str]


class Block:
    """The bytes of records, and where each record starts and ends; no two overlap, and they are in order.

    ``origin`` describes, for errors, where the i-th record was read.
    """

    def __init__(self, data: pa.Buffer, starts: Ints, ends: Ints, origin: Origin) -> None:
        self.data = data
        self.starts, self.ends = starts, ends
        self.lengths = ends - starts
        self.origin = origin

    @classmethod
    def end_to_end(cls, values: Sequence[bytes | None], origin: Origin) -> Self:
        """Returns a block of these values, end to end."""
        joined = pa.array(values, pa.binary())
        if isinstance(joined, pa.ChunkedArray):  # too large for one array
            raise ValueError(f"more than {MAX_BYTES} bytes at once; decode fewer records in one call")
        _, bounds, data = joined.buffers()
        positions = np.frombuffer(bounds, np.int32, len(values) + 1).astype(np.int64)
        return cls(data, positions[:-1], positions[1:], origin)

    def gather(self, at: Ints, dtype: np.dtype[Any]) -> Array:
        """Copies a ``dtype`` from each of these byte positions."""
        if len(at) == 0:
            return np.empty(0, dtype)
        size = dtype.itemsize
        everywhere: Array = np.ndarray((self.data.size - size + 1,), f"V{size}", self.data, strides=(1,))
        return everywhere[at].view(dtype)  # copying plain bytes is ten times as fast as field by field

    def texts(self, bounds: Ints) -> list[pa.BinaryArray]:
        """Returns columns of bytes: in row i, column j is from ``bounds[i, j]`` to ``bounds[i, j + 1]``.

        Row by row, the bounds must never decrease.
        """
        rows, width = bounds.shape
        flat = bounds.astype(np.int32).ravel()
        every = pa.BinaryArray.from_buffers(pa.binary(), len(flat) - 1, [None, pa.py_buffer(flat), self.data])
        return [every.take(pa.array(np.arange(j, rows * width, width))) for j in range(width - 1)]

    def require(
        self, valid: Bools, what: str | Callable[[int], str], next_step: str = "", *, at: Ints | None = None
    ) -> None:
        """Raises ChangelogError for the first entry that is not valid; ``at`` is the record of each entry."""
        if not valid.all():
            i = int(np.argmin(valid))
            record = i if at is None else int(at[i])
            problem = what if isinstance(what, str) else what(i)
            raise ChangelogError(f"The changelog's {self._describe(record)} {problem}.", next_step)

    def require_valid(self, array: pa.Array, what: str, *, at: Ints) -> None:
        """Raises ChangelogError for the first value that its Arrow type cannot hold, such as invalid UTF-8."""
        if not _is_valid(array):
            self.require(np.array([_is_valid(array[i : i + 1]) for i in range(len(array))]), what, at=at)

    def _describe(self, record: int) -> str:
        if self.lengths[record] < HEADER.itemsize:
            return self.origin(record)
        header = self.gather(self.starts[record : record + 1], HEADER)[0]
        if header["kind"] in _ABOUT_NO_RECORD:
            return self.origin(record)
        source = {0: "left", 1: "right"}.get(int(header["side"]), "unknown")
        return f"{self.origin(record)} ({source} source, partition {header['partition']}, offset {header['offset']})"


def _is_valid(array: pa.Array) -> bool:
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def records_of(messages: Block) -> Block:
    """Returns the records of these messages, in order; raises ChangelogError if a message is malformed."""
    messages.require(messages.lengths >= HEADER.itemsize, lambda i: f"has only {messages.lengths[i]} bytes")
    header = messages.gather(messages.starts, HEADER)
    require_version(messages, header)
    is_batch = header["kind"] == _BATCH
    if not is_batch.any():
        return messages
    counts = np.where(is_batch, header["count"].astype(np.int64), 1)
    tables = np.where(is_batch, HEADER.itemsize + _END.itemsize * counts, 0)
    messages.require(
        (counts > 0) & (tables <= messages.lengths),
        lambda i: f"has {messages.lengths[i]} bytes for a batch of {counts[i]} records",
    )
    message = np.repeat(np.arange(len(counts)), counts)
    nth = np.arange(len(message)) - np.repeat(np.cumsum(counts) - counts, counts)
    starts, ends = (messages.starts + tables)[message], messages.ends[message]
    inside = np.flatnonzero(is_batch[message])
    entries = messages.starts[message] + HEADER.itemsize + _END.itemsize * nth
    ends[inside] = starts[inside] + messages.gather(entries[inside], _END)
    later = np.flatnonzero(nth)
    starts[later] = ends[later - 1]
    messages.require(
        (starts <= ends) & (ends <= messages.ends[message]), "has a record that ends out of bounds", at=message
    )
    messages.require(ends[np.cumsum(counts) - 1] == messages.ends, "has bytes after its last record")
    return Block(messages.data, starts, ends, lambda i: messages.origin(int(message[i])))


def require_version(block: Block, header: Array) -> None:
    block.require(
        header["version"] == VERSION,
        lambda i: f"has format version {header['version'][i]}; this program reads version {VERSION}",
        "Read it with the Evertable that wrote it, or rebuild the generation.",
    )
