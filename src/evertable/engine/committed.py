"""Committed source offsets, as Spark reports them of a running query and as a checkpoint records them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from evertable.engine.spec import GenerationSpec, local_path

Ends = tuple[Mapping[int, int], Mapping[int, int]]
"""For each side, by partition, the offset after the last one committed."""


def committed_ends(spec: GenerationSpec, sources: Iterable[Any]) -> Ends:
    """Parses each source's offsets from Spark's JSON; if both sides read one topic, the smaller offset counts."""
    found: dict[str, dict[int, int]] = {}
    for offsets in sources:
        parsed = orjson.loads(offsets) if isinstance(offsets, str | bytes) else offsets
        for topic, partitions in (parsed or {}).items():
            ends = found.setdefault(topic, {})
            for partition, end in partitions.items():
                ends[int(partition)] = min(int(end), ends.get(int(partition), int(end)))
    return found.get(spec.left.topic, {}), found.get(spec.right.topic, {})


def committed_in_checkpoint(spec: GenerationSpec) -> Ends:
    """Reads the last committed epoch of a local checkpoint; returns nothing if there is none or it is damaged.

    Spark keeps an epoch's offsets in ``offsets/<epoch>`` (a version, settings, then one line per source) and writes
    ``commits/<epoch>`` once the epoch is committed.
    """
    folder = local_path(spec.checkpoint)
    if folder is None:
        return {}, {}
    try:
        epoch = max(int(file.name) for file in (folder / "commits").iterdir() if file.name.isdecimal())
        _version, _settings, *sources = (folder / "offsets" / str(epoch)).read_bytes().splitlines()
        return committed_ends(spec, (source for source in sources if source != b"-"))
    except (OSError, ValueError, AttributeError):
        return {}, {}
