"""Whole tables as files: CSV and Arrow, encoded piece by piece from a snapshot, so that no file is held in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from evertable.live.batches import batches
from evertable.protocol.answers import Stamp
from evertable.protocol.values import rows_of
from evertable.schema.columns import Column, Kind
from evertable.server.reading import find
from evertable.server.requests import Pairs, keeps_formulas, view_of
from evertable.tables.catalog import Catalog
from evertable.tables.pieces import Check, never
from evertable.tables.table import Slots, Snapshot, schema_of
from evertable.views.query import Query, columns_of

PIECE_BYTES = 256 * 1024  # about the size of a piece; each download has one in memory


class Format(StrEnum):
    CSV = "csv"
    ARROW = "arrow"

    @property
    def media_type(self) -> str:
        return {"csv": "text/csv; charset=utf-8; header=present", "arrow": "application/vnd.apache.arrow.stream"}[self]


@dataclass(frozen=True)
class Extract:
    """The rows of a view of a table at one moment."""

    table: str
    stamp: Stamp
    columns: tuple[Column, ...]
    snapshot: Snapshot
    slots: Slots
    places: tuple[int, ...]
    keeps_formulas: bool = False

    @classmethod
    def of(cls, catalog: Catalog, name: str, pairs: Pairs, check: Check = never) -> Extract:
        current, table = find(catalog, name)
        view = view_of(pairs, table.columns)
        query = Query.parse(view).bind(table.columns)
        places, _ = columns_of(view, table.columns)
        snapshot = table.snapshot()
        stamp = Stamp(current.number, snapshot.extent.version, current.generation)
        columns = tuple(table.columns[place] for place in places)
        return cls(name, stamp, columns, snapshot, query.order(snapshot, check), places, keeps_formulas(pairs))

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yields the rows, as many at a time as fit into a piece."""
        return batches(self.snapshot, self.slots, self.places, max_bytes=PIECE_BYTES)

    def pieces(self, format: Format) -> Iterator[bytes]:  # noqa: A002
        """Yields the file in pieces."""
        encoder = _ENCODERS[format](self)
        yield encoder.head()
        for batch in self.batches():
            yield encoder.piece(batch)
        yield encoder.tail()


class Encoder(Protocol):
    def head(self) -> bytes: ...
    def piece(self, batch: pa.RecordBatch) -> bytes: ...
    def tail(self) -> bytes: ...


class CsvEncoder:
    """Encodes CSV (RFC 4180, UTF-8): values as in JSON, a null is empty, and an empty text is ``""``.

    A text that a spreadsheet would run as a formula gets an apostrophe in front, unless the export keeps formulas.
    """

    def __init__(self, extract: Extract) -> None:
        self._columns = extract.columns
        self._texts = _quoted if extract.keeps_formulas else _escaped

    def head(self) -> bytes:
        names = pa.array([column.name for column in self._columns], pa.large_string())
        return ",".join(self._texts(names).to_pylist()).encode() + b"\r\n"

    def piece(self, batch: pa.RecordBatch) -> bytes:
        cells = [self._cells(array, column) for array, column in zip(batch.columns, self._columns, strict=True)]
        return bytes(_text(_joined(_joined(*cells, between=","), _LINE_END)))

    def tail(self) -> bytes:
        return b""

    def _cells(self, array: pa.Array, column: Column) -> pa.Array:
        """Returns a column's values as CSV cells; nulls stay nulls."""
        match column.type.kind:
            case Kind.STRING:
                return self._texts(array.cast(pa.large_string()))
            case Kind.JSON:  # begins like a formula only if it is a negative number
                return _quoted(array.cast(pa.large_string()))
            case Kind.BOOLEAN | Kind.INT | Kind.LONG:
                return array.cast(pa.large_string())
        return _json_texts(array, column)


def _json_texts(array: pa.Array, column: Column) -> pa.Array:
    """Returns values as texts where Arrow's differ from JSON's."""
    values = [value for (value,) in rows_of(pa.RecordBatch.from_arrays([array], ["value"]), [column])]
    if column.type.kind in (Kind.FLOAT, Kind.DOUBLE):
        texts = orjson.dumps(values)[1:-1].decode().split(",") if values else []
        values = [None if text == "null" else text for text in texts]
    return pa.array(values, pa.large_string())


def _escaped(texts: pa.Array) -> pa.Array:
    """Quotes texts, with an apostrophe before those that a spreadsheet would run: ``=1+1`` becomes ``'=1+1``."""
    harmless = _joined(_APOSTROPHE, texts)
    return _quoted(pc.if_else(pc.match_substring_regex(texts, _FORMULA), harmless, texts))


def _quoted(texts: pa.Array) -> pa.Array:
    """Puts quotes around texts that a reader would misread: several cells or lines, a null, outer blanks."""
    inside = _joined(_QUOTE, pc.replace_substring(texts, '"', '""'), _QUOTE)
    return pc.if_else(pc.match_substring_regex(texts, r'^$|^\s|\s$|[",\r\n]'), inside, texts)  # null where texts are


def _joined(*parts: pa.Array, between: str = "") -> pa.Array:
    """Concatenates texts row by row; a null counts as empty."""
    separator = pa.scalar(between, pa.large_string())
    return pc.binary_join_element_wise(*parts, separator, null_handling="replace", null_replacement="")


_FORMULA = r"^[\t\r\n]|^[\s\pZ\pC]*[-=+@＝＋－＠]"  # spreadsheets may drop blanks and unseen characters in front
_APOSTROPHE = pa.scalar("'", pa.large_string())
_QUOTE = pa.scalar('"', pa.large_string())
_LINE_END = pa.scalar("\r\n", pa.large_string())


def _text(lines: pa.Array) -> memoryview:
    """Returns the memory that holds all lines one after the other."""
    _, offsets, text = lines.buffers()
    starts = memoryview(offsets).cast("q")
    begin, end = starts[lines.offset], starts[lines.offset + len(lines)]
    return memoryview(text)[begin:end]


class ArrowEncoder:
    """Encodes an Arrow IPC stream. Its metadata has the origin of the rows, and Evertable's type of each column."""

    def __init__(self, extract: Extract) -> None:
        fields = [
            field.with_metadata({"evertable.type": str(column.type)})
            for field, column in zip(schema_of(extract.columns), extract.columns, strict=True)
        ]
        stamp = extract.stamp
        origin: Mapping[str, Any] = {
            "table": extract.table,
            "generation": stamp.generation,
            "publication": stamp.publication,
            "version": stamp.version,
        }
        self._schema = pa.schema(fields, {f"evertable.{key}": str(value) for key, value in origin.items()})
        self._sink = _Sink()
        self._writer = pa.ipc.new_stream(pa.PythonFile(self._sink, mode="w"), self._schema)

    def head(self) -> bytes:
        return self._sink.taken()

    def piece(self, batch: pa.RecordBatch) -> bytes:
        self._writer.write_batch(pa.RecordBatch.from_arrays(batch.columns, schema=self._schema))
        return self._sink.taken()

    def tail(self) -> bytes:
        self._writer.close()
        return self._sink.taken()


class _Sink:
    """A file that is emptied as it is written."""

    closed = False

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def write(self, part: Any) -> int:
        self._parts.append(bytes(part))
        return len(self._parts[-1])

    def flush(self) -> None: ...

    def close(self) -> None: ...

    def taken(self) -> bytes:
        whole = b"".join(self._parts)
        self._parts.clear()
        return whole


_ENCODERS: Mapping[Format, Callable[[Extract], Encoder]] = {Format.CSV: CsvEncoder, Format.ARROW: ArrowEncoder}
