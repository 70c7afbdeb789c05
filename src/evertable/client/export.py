"""Whole tables as files: written beside their place and moved there when they are complete."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from evertable.client.errors import OutputError

if TYPE_CHECKING:
    import pyarrow as pa

Report = Callable[[int], None]
"""Is told how many bytes have come so far."""

ROW_GROUP = 131_072  # rows; what readers of Parquet like


def write_csv(pieces: Iterator[bytes], file: BinaryIO, report: Report) -> None:
    for piece in _counted(pieces, report):
        file.write(piece)


def write_arrow(pieces: Iterator[bytes], file: BinaryIO, report: Report) -> None:
    """As a file that can be read at any place, not as the stream that came."""
    import pyarrow as pa

    from evertable.client.arrow import batches_of

    with batches_of(_counted(pieces, report)) as batches, pa.ipc.new_file(file, batches.schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


def write_parquet(pieces: Iterator[bytes], file: BinaryIO, report: Report) -> None:
    import pyarrow.parquet as pq

    from evertable.client.arrow import batches_of

    with batches_of(_counted(pieces, report)) as batches, pq.ParquetWriter(file, batches.schema) as writer:
        for table in _groups(batches):
            writer.write_table(table, ROW_GROUP)


Writer = Callable[[Iterator[bytes], BinaryIO, Report], None]
FORMATS: dict[str, tuple[str, Writer]] = {
    ".csv": ("csv", write_csv),
    ".arrow": ("arrow", write_arrow),
    ".parquet": ("arrow", write_parquet),
}
"""By how a file's name ends: what the server is asked for, and how that is written."""


def format_of(target: Path) -> tuple[str, Writer]:
    try:
        return FORMATS[target.suffix.lower()]
    except KeyError:
        known = ", ".join(FORMATS)
        raise OutputError(f"{target} has no ending that says what to write.", f"End it in {known}.") from None


@contextmanager
def complete_file(target: Path, *, overwrite: bool) -> Iterator[BinaryIO]:
    """A file that gets its name when the block ends well; if it does not, nothing is left of it."""
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
        raise OutputError(f"{target} cannot be written: {error.strerror or error}.") from None
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _check_free(target: Path, overwrite: bool) -> None:
    if target.is_dir():
        raise OutputError(f"{target} is a folder.", "Give the name of a file.")
    if not overwrite and target.exists():
        raise OutputError(f"{target} is there already.", "Write it anew with --force, or choose another name.")


def _counted(pieces: Iterator[bytes], report: Report) -> Iterator[bytes]:
    total = 0
    for piece in pieces:
        total += len(piece)
        report(total)
        yield piece


def _groups(batches: pa.RecordBatchStreamReader) -> Iterator[pa.Table]:
    """Small batches put together, for each write makes a row group of its own."""
    import pyarrow as pa

    waiting: list[pa.RecordBatch] = []
    rows = 0
    for batch in batches:
        waiting.append(batch)
        rows += batch.num_rows
        if rows >= ROW_GROUP:
            yield pa.Table.from_batches(waiting)
            waiting, rows = [], 0
    if waiting:
        yield pa.Table.from_batches(waiting)
