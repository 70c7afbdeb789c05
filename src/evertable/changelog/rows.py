"""Decodes row records to Arrow, column by column for all rows at once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from evertable.changelog.block import Array, Block, Bools
from evertable.changelog.ids import Ints, row_ids
from evertable.changelog.schema import TEXT, RowLayout, arrow_type, field
from evertable.schema.columns import Column, Kind

_CHECKED = TEXT | {Kind.DECIMAL}  # the other types can hold any bytes


def decode_rows(block: Block, layout: RowLayout, records: Ints, tails: Ints) -> pa.RecordBatch:
    """Decodes the rows of one source; writes to ``tails`` where each record's matches begin."""
    if len(records) == 0:
        return layout.empty
    room = block.lengths[records] - layout.head.itemsize
    block.require(room >= 0, lambda i: f"is {-room[i]} bytes too short for its columns", at=records)
    head = block.gather(block.starts[records], layout.head)
    bounds = _text_bounds(block, layout, head, records)
    tails[records] = bounds[:, -1]
    texts = dict(zip(layout.texts, block.texts(bounds), strict=True))
    nulls = head["nulls"] if head["nulls"].any() else None

    arrays = [pa.array(row_ids(head["partition"], head["offset"])), pa.array(np.ascontiguousarray(head["timestamp"]))]
    for i, column in enumerate(layout.columns):
        data = texts[i].buffers()[1:] if i in texts else [_data(block, column, head[field(i)], records)]
        validity = None if nulls is None else _validity(nulls, i)
        array = pa.Array.from_buffers(arrow_type(column.type), len(records), [validity, *data])
        if column.type.kind in _CHECKED:
            block.require_valid(array, f"has an invalid {column.type} in column '{column.name}'", at=records)
        arrays.append(array)
    return pa.RecordBatch.from_arrays(arrays, schema=layout.arrow)


def _text_bounds(block: Block, layout: RowLayout, head: Array, records: Ints) -> Ints:
    """Returns where each row's texts begin and end in the block, one column more than there are texts."""
    bounds = np.zeros((len(records), len(layout.texts) + 1), np.int64)
    for j, i in enumerate(layout.texts):
        bounds[:, j + 1] = head[field(i)]
    bounds += (block.starts[records] + layout.head.itemsize)[:, None]
    block.require(bounds[:, -1] <= block.ends[records], "has a text that ends after the record", at=records)
    forward: Bools = np.all(bounds[:, 1:] >= bounds[:, :-1], axis=1)
    block.require(forward, "has a text that ends before it begins", at=records)
    return bounds


def _data(block: Block, column: Column, entries: Array, records: Ints) -> pa.Buffer:
    """Returns a column's fixed entries as Arrow stores them; requires that its type allows them."""
    kind = column.type.kind
    if kind is Kind.BOOLEAN:
        block.require(entries <= 1, lambda i: f"has {entries[i]} in boolean column '{column.name}'", at=records)
        return pa.py_buffer(np.packbits(entries, bitorder="little"))
    entries = np.ascontiguousarray(entries)
    if kind in (Kind.FLOAT, Kind.DOUBLE):
        block.require(np.isfinite(entries), lambda i: f"has {entries[i]} in number column '{column.name}'", at=records)
    return pa.py_buffer(entries)


def _validity(nulls: Array, column: int) -> pa.Buffer | None:
    """Returns Arrow's bitmap of the values that are not null; None if no value is null."""
    missing = (nulls[:, column >> 3] >> (column & 7)) & 1
    return pa.py_buffer(np.packbits(missing ^ 1, bitorder="little")) if missing.any() else None
