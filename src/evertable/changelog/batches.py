"""Splits messages into records, without a Python loop: a message is one record or a batch of them."""

from __future__ import annotations

import numpy as np

from evertable.changelog.block import Array, Block
from evertable.changelog.schema import HEADER, VERSION, RecordKind

_BATCH = int(RecordKind.BATCH)
_END = np.dtype("<u4")


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
