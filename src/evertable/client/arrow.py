"""Reads Arrow streams while they arrive from the server."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pyarrow as pa

from evertable.client.errors import NOT_EVERTABLE, ServerAnswerError


def read_table(chunks: Iterator[bytes]) -> pa.Table:
    """Reads a whole stream."""
    with open_batches(chunks) as reader:
        return reader.read_all()


def open_batches(chunks: Iterator[bytes]) -> pa.RecordBatchStreamReader:
    """Opens a reader that takes no more chunks than the next batch needs."""
    try:
        return pa.ipc.open_stream(io.BufferedReader(_ChunkStream(chunks), 1 << 20))
    except pa.ArrowInvalid as error:
        raise ServerAnswerError(f"The server's answer is not an Arrow stream: {error}.", NOT_EVERTABLE) from None


class _ChunkStream(io.RawIOBase):
    """A file over chunks of bytes."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self._rest = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._rest:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._rest = memoryview(chunk)
        count = min(len(buffer), len(self._rest))
        buffer[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count
