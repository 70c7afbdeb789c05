"""Tracks, in little memory, which offsets of one source partition have been read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evertable.changelog.ids import Ints

CHUNK_BITS = 16
CHUNK = 1 << CHUNK_BITS  # offsets of one bit each: 8 kB
MAX_OPEN = 1024  # incomplete chunks at once: 8 MB, 67 million offsets


@dataclass(frozen=True)
class Span:
    """The first and the last readable record of a partition when the build began."""

    first: int
    last: int

    def __post_init__(self) -> None:
        if not 0 <= self.first <= self.last:
            raise ValueError(f"not a span: first {self.first}, last {self.last}")

    @property
    def offsets(self) -> int:
        return self.last - self.first + 1


class Coverage:
    """A bitmap of the offsets of a span, which may be added in any order and any number of times.

    A chunk of the bitmap exists from its first offset until it is full. If offsets do not exist (compaction,
    transaction markers), chunks never fill. Beyond ``MAX_OPEN`` of them the bitmap is dropped and the span can no
    longer become full; the second rule of docs/CHANGELOG-FORMAT.md covers such partitions.
    """

    def __init__(self, span: Span) -> None:
        self.span = span
        self.highest = span.first - 1
        """The greatest offset of the span that was added; one less than its first offset if none was."""
        self._full: set[int] = set()
        self._open: dict[int, np.ndarray[tuple[int], np.dtype[np.uint8]]] = {}
        self._is_dropped = False

    @property
    def is_full(self) -> bool:
        """Whether every offset of the span has been added."""
        return len(self._full) == (self.span.offsets + CHUNK - 1) // CHUNK

    @property
    def has_last(self) -> bool:
        return self.highest == self.span.last

    @property
    def bitmaps(self) -> int:
        """The number of chunks in memory."""
        return len(self._open)

    def add(self, offsets: Ints) -> None:
        """Adds these offsets; those outside of the span are ignored."""
        offsets = offsets[(offsets >= self.span.first) & (offsets <= self.span.last)]
        if len(offsets) == 0:
            return
        self.highest = max(self.highest, int(offsets.max()))
        if self._is_dropped:
            return
        places = np.sort(offsets - self.span.first)
        chunks = places >> CHUNK_BITS
        for part in np.split(places, np.flatnonzero(np.diff(chunks)) + 1):
            self._mark(int(part[0]) >> CHUNK_BITS, part & (CHUNK - 1))
        if len(self._open) > MAX_OPEN:
            self._is_dropped = True
            self._open.clear()

    def _mark(self, number: int, bits: Ints) -> None:
        if number in self._full:
            return
        chunk = self._open.setdefault(number, np.zeros(CHUNK // 8, np.uint8))
        np.bitwise_or.at(chunk, bits >> 3, (1 << (bits & 7)).astype(np.uint8))
        if int(np.bitwise_count(chunk).sum()) == min(CHUNK, self.span.offsets - number * CHUNK):
            self._full.add(number)
            del self._open[number]
