"""Committed source offsets, as Spark reports them of a running query and as a checkpoint records them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from evertable.engine.spec import GenerationSpec, local_path

Ends = tuple[Mapping[int, int], Mapping[int, int]]
"""For each side, by partition, the offset after the last one committed."""


def committed_ends(offsets: Any) -> Ends:
    """Reads the offsets of our source (``Offsets`` in ``jvm/``), as JSON or parsed; empty before the first epoch."""
    parsed = orjson.loads(offsets) if isinstance(offsets, str | bytes) else offsets
    left, right = (
        {int(partition): int(offset) for partition, (offset, _epoch) in (parsed or {}).get(side, {}).items()}
        for side in ("0", "1")
    )
    return left, right


def committed_in_checkpoint(spec: GenerationSpec) -> Ends:
    """Reads the last committed epoch of a local checkpoint; returns nothing if there is none or it is damaged.

    Spark keeps an epoch's offsets in ``offsets/<epoch>`` (a version, settings, then a line with those of our source)
    and writes ``commits/<epoch>`` once the epoch is committed.
    """
    folder = local_path(spec.checkpoint)
    if folder is None:
        return {}, {}
    try:
        epoch = max(int(file.name) for file in (folder / "commits").iterdir() if file.name.isdecimal())
        _version, _settings, offsets = (folder / "offsets" / str(epoch)).read_bytes().splitlines()
        return committed_ends(offsets)
    except (OSError, ValueError, AttributeError, TypeError):
        return {}, {}
