"""Numpy arrays that can be appended to."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

_GROWTH = 1.5
_SMALLEST = 64


class GrowingArray:
    """Values of one type, appended in amortised constant time.

    Arrays that ``values`` returned remain valid: growing copies to new memory and leaves the old one as it is.
    """

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._buffer: npt.NDArray[Any] = np.empty(_SMALLEST, dtype)
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def nbytes(self) -> int:
        return self._buffer.nbytes

    @property
    def values(self) -> npt.NDArray[Any]:
        """A view of all values, to read or to write in place."""
        return self._buffer[: self._size]

    def append(self, values: npt.NDArray[Any]) -> None:
        size = self._size + len(values)
        if size > len(self._buffer):
            larger = np.empty(max(int(len(self._buffer) * _GROWTH), size), self._buffer.dtype)
            larger[: self._size] = self.values
            self._buffer = larger
        self._buffer[self._size : size] = values
        self._size = size

    def extend(self, count: int, value: Any) -> None:
        """Appends ``value`` ``count`` times."""
        self.append(np.full(count, value))
