"""Arrow streams read as they come from the server."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pyarrow as pa

from evertable.client.errors import ServerAnswerError

_ELSEWHERE = "Is this the address of an Evertable server?"


def table_of(pieces: Iterator[bytes]) -> pa.Table:
    """The table that an Arrow stream holds."""
    with batches_of(pieces) as reader:
        return reader.read_all()


def batches_of(pieces: Iterator[bytes]) -> pa.RecordBatchStreamReader:
    """Reads batch by batch, taking no more pieces than it needs."""
    try:
        return pa.ipc.open_stream(io.BufferedReader(_Pieces(pieces), 1 << 20))
    except pa.ArrowInvalid as error:
        raise ServerAnswerError(f"The server's answer is no Arrow stream: {error}.", _ELSEWHERE) from None


class _Pieces(io.RawIOBase):
    """Pieces of bytes as a file."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, into: memoryview) -> int:  # type: ignore[override]
        while not self._left:
            piece = next(self._pieces, None)
            if piece is None:
                return 0
            self._left = memoryview(piece)
        count = min(len(into), len(self._left))
        into[:count] = self._left[:count]
        self._left = self._left[count:]
        return count
