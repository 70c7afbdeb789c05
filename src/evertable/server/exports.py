"""Whole tables as files: CSV and Arrow, encoded piece by piece from a snapshot, so that no file is held in memory."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import orjson
import pyarrow as pa
import pyarrow.compute as pc

from evertable.live.batches import batches
from evertable.protocol.values import rows_of
from evertable.schema.columns import Column, Kind
from evertable.server.reading import Selection
from evertable.server.requests import SHAPE, Pairs, keeps_formulas
from evertable.tables.catalog import Catalog
from evertable.tables.table import Check, Slots, Snapshot, never, schema_of

PIECE_BYTES = 256 * 1024  # about the size of a piece; each download has one in memory


@dataclass(frozen=True)
class Extract:
    """The rows that a request asks for, at one moment."""

    selection: Selection
    snapshot: Snapshot
    slots: Slots
    keeps_formulas: bool

    @classmethod
    def of(cls, catalog: Catalog, name: str, pairs: Pairs, check: Check = never) -> Extract:
        selection = Selection.of(catalog, name, pairs)
        snapshot = selection.table.snapshot()
        return cls(selection, snapshot, selection.query.order(snapshot, check), keeps_formulas(pairs))

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Yields the rows, as many at a time as fit into a piece."""
        return batches(self.snapshot, self.slots, self.selection.places, max_bytes=PIECE_BYTES)


def csv_pieces(extract: Extract) -> Iterator[bytes]:
    """Yields CSV (RFC 4180, UTF-8): values as in JSON, a null is empty, and an empty text is ``""``.

    A text that a spreadsheet would run as a formula gets an apostrophe in front, unless the export keeps formulas.
    """
    columns, encode = extract.selection.columns, _quoted if extract.keeps_formulas else _escaped

    def cells(array: pa.Array, column: Column) -> pa.Array:
        match column.type.kind:
            case Kind.STRING:
                return encode(array.cast(pa.large_string()))
            case Kind.JSON:  # begins like a formula only if it is a negative number
                return _quoted(array.cast(pa.large_string()))
            case Kind.BOOLEAN | Kind.INT | Kind.LONG:
                return array.cast(pa.large_string())
        return _json_texts(array, column)

    names = encode(pa.array([column.name for column in columns], pa.large_string()))
    yield ",".join(names.to_pylist()).encode() + b"\r\n"
    for batch in extract.batches():
        encoded = [cells(array, column) for array, column in zip(batch.columns, columns, strict=True)]
        lines = _joined(*encoded, between=",")
        text = pc.binary_join(pa.ListArray.from_arrays([0, len(lines)], lines.cast(pa.string())), "\r\n")
        yield text[0].as_buffer().to_pybytes() + b"\r\n"


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


def arrow_pieces(extract: Extract) -> Iterator[bytes]:
    """Yields an Arrow IPC stream. Its metadata has the origin of the rows, and Evertable's type of each column."""
    columns, selection = extract.selection.columns, extract.selection
    fields = [
        field.with_metadata({"evertable.type": str(column.type)})
        for field, column in zip(schema_of(columns), columns, strict=True)
    ]
    origin = {
        "table": selection.name,
        "generation": selection.publication.generation,
        "publication": selection.publication.number,
        "version": extract.snapshot.extent.version,
    }
    schema = pa.schema(fields, {f"evertable.{key}": str(value) for key, value in origin.items()})
    written = io.BytesIO()

    def taken() -> bytes:
        piece = written.getvalue()
        written.seek(0)
        written.truncate()
        return piece

    with pa.ipc.new_stream(written, schema) as writer:
        yield taken()
        for batch in extract.batches():
            writer.write_batch(pa.RecordBatch.from_arrays(batch.columns, schema=schema))
            yield taken()
    yield taken()


@dataclass(frozen=True)
class FileFormat:
    """A format of exports, with the parameters that its requests may have."""

    suffix: str
    media_type: str
    parameters: tuple[str, ...]
    pieces: Callable[[Extract], Iterator[bytes]]


CSV = FileFormat("csv", "text/csv; charset=utf-8; header=present", (*SHAPE, "formulas"), csv_pieces)
ARROW = FileFormat("arrow", "application/vnd.apache.arrow.stream", SHAPE, arrow_pieces)
