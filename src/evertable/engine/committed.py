"""Up to where a query has committed its sources: as Spark tells of a running one, and as a checkpoint remembers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from evertable.engine.spec import GenerationSpec, local_path

Ends = tuple[Mapping[int, int], Mapping[int, int]]
"""For each side, by partition, the offset behind the last one committed."""


def committed_ends(spec: GenerationSpec, sources: Iterable[Any]) -> Ends:
    """From each source's offsets in Spark's JSON; where both sides read one topic, the one that is behind."""
    found: dict[str, dict[int, int]] = {}
    for offsets in sources:
        parsed = orjson.loads(offsets) if isinstance(offsets, str | bytes) else offsets
        for topic, partitions in (parsed or {}).items():
            ends = found.setdefault(topic, {})
            for partition, end in partitions.items():
                ends[int(partition)] = min(int(end), ends.get(int(partition), int(end)))
    return found.get(spec.left.topic, {}), found.get(spec.right.topic, {})


def committed_in_checkpoint(spec: GenerationSpec) -> Ends:
    """From the last epoch that a local checkpoint knows to be committed; nothing if there is none, or it is damaged.

    Spark keeps an epoch's offsets in ``offsets/<epoch>`` (a version, settings, then a line a source) and writes
    ``commits/<epoch>`` when it is done.
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
