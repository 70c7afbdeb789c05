"""Committed offsets; test_crashes compares a real checkpoint with what Spark reported."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.engine.specs import spec

from evertable.engine.committed import committed_ends, committed_in_checkpoint

SPEC = spec()


def test_offsets_are_read_by_side_and_partition() -> None:
    """Spark has them as text or parsed, and as null before the first epoch."""
    assert committed_ends('{"1":{"0":[3,0]},"0":{"0":[1,-1],"1":[2,5]}}') == ({0: 1, 1: 2}, {0: 3})
    assert committed_ends({"1": {"0": [3, 0]}}) == ({}, {0: 3})
    assert committed_ends(None) == ({}, {})


def test_an_uncommitted_epoch_does_not_count(tmp_path: Path) -> None:
    """Nor do the files that Hadoop keeps beside each one."""
    for name in ("commits/9", "commits/10", "commits/.11.crc"):
        write(tmp_path / name, "v1\n{}")
    for epoch in (9, 10, 11):
        write(tmp_path / f"offsets/{epoch}", f'v1\n{{}}\n{{"0":{{"0":[{epoch},0]}}}}')
    assert committed_in_checkpoint(replace(SPEC, checkpoint=f"file://{tmp_path}")) == ({0: 10}, {})


@pytest.mark.parametrize(
    "damaged", [None, "", "v1", "v1\n{}\nnonsense", "v1\n{}\n[1]", 'v1\n{}\n{"0":1}', 'v1\n{}\n{"0":{"0":7}}']
)
def test_without_a_commit_that_can_be_read_nothing_is_known(tmp_path: Path, damaged: str | None) -> None:
    assert committed_in_checkpoint(replace(SPEC, checkpoint=str(tmp_path))) == ({}, {})
    write(tmp_path / "commits/0", "v1\n{}")
    if damaged is not None:
        write(tmp_path / "offsets/0", damaged)
    assert committed_in_checkpoint(replace(SPEC, checkpoint=str(tmp_path))) == ({}, {})


def write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
