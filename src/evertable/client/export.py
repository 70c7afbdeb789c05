"""Reads whole tables while they arrive, and writes them to files, which get their names only when they are complete."""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from evertable.client.errors import NOT_EVERTABLE, OutputError, ServerAnswerError

Report = Callable[[int], None]
"""Reports how many bytes have arrived so far."""

ROW_GROUP = 131_072  # rows; a common size for readers of Parquet


def open_batches(chunks: Iterator[bytes]) -> pa.RecordBatchStreamReader:
    """Opens a reader that takes no more chunks than the next batch needs."""
    try:
        return pa.ipc.open_stream(io.BufferedReader(_ChunkStream(chunks), 1 << 20))
    except pa.ArrowInvalid as error:
        raise ServerAnswerError(f"The server's answer is not an Arrow stream: {error}.", NOT_EVERTABLE) from None


def write_csv(chunks: Iterator[bytes], file: BinaryIO, report: Report) -> None:
    for chunk in _counted(chunks, report):
        file.write(chunk)


def write_arrow(chunks: Iterator[bytes], file: BinaryIO, report: Report) -> None:
    """Writes a file with random access, unlike the stream that the server sends."""
    with open_batches(_counted(chunks, report)) as batches, pa.ipc.new_file(file, batches.schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


def write_parquet(chunks: Iterator[bytes], file: BinaryIO, report: Report) -> None:
    import pyarrow.parquet as pq

    with open_batches(_counted(chunks, report)) as batches, pq.ParquetWriter(file, batches.schema) as writer:
        for table in _groups(batches):
            writer.write_table(table, ROW_GROUP)


Writer = Callable[[Iterator[bytes], BinaryIO, Report], None]
FORMATS: dict[str, tuple[str, Writer]] = {
    ".csv": ("csv", write_csv),
    ".arrow": ("arrow", write_arrow),
    ".parquet": ("arrow", write_parquet),
}
"""By file extension: the format to request from the server, and the function that writes it."""


def format_of(target: Path) -> tuple[str, Writer]:
    try:
        return FORMATS[target.suffix.lower()]
    except KeyError:
        known = ", ".join(FORMATS)
        raise OutputError(f"{target} has no known file extension.", f"Use one of {known}.") from None


@contextmanager
def complete_file(target: Path, *, overwrite: bool) -> Iterator[BinaryIO]:
    """Opens a file that gets its name when the block succeeds; if the block fails, the file is deleted."""
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        _check_free(target, overwrite)
        with part.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        _check_free(target, overwrite)
        part.replace(target)
    except OSError as error:
        raise OutputError(f"Cannot write {target}: {error.strerror or error}.") from None
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _check_free(target: Path, overwrite: bool) -> None:
    if target.is_dir():
        raise OutputError(f"{target} is a folder.", "Give the name of a file.")
    if not overwrite and target.exists():
        raise OutputError(f"{target} exists already.", "Overwrite it with --force, or choose another name.")


def _counted(chunks: Iterator[bytes], report: Report) -> Iterator[bytes]:
    total = 0
    for chunk in chunks:
        total += len(chunk)
        report(total)
        yield chunk


def _groups(batches: pa.RecordBatchStreamReader) -> Iterator[pa.Table]:
    """Combines small batches, because each write creates a row group."""
    pending: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        pending.append(batch)
        rows += batch.num_rows
        if rows >= ROW_GROUP:
            yield pa.Table.from_batches(pending)
            pending, rows = [], 0
    if pending:
        yield pa.Table.from_batches(pending)


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
