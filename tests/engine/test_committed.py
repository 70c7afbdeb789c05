"""Committed offsets; test_crashes compares a real checkpoint with what Spark reported."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.engine.specs import spec

from evertable.engine.committed import committed_ends, committed_in_checkpoint

SPEC = replace(spec(), left=replace(spec().left, topic="l"), right=replace(spec().right, topic="r"))


def test_sides_are_distinguished_by_their_topics() -> None:
    """Spark lists sources in any order, as text or parsed, and a source without records as null."""
    assert committed_ends(SPEC, ['{"r":{"0":3}}', {"l": {"0": 1, "1": 2}}]) == ({0: 1, 1: 2}, {0: 3})
    assert committed_ends(SPEC, [None, '{"r":{"0":3}}']) == ({}, {0: 3})


def test_with_one_topic_for_both_sides_the_lower_offset_counts() -> None:
    one = replace(SPEC, right=SPEC.left)
    assert committed_ends(one, [{"l": {"0": 7, "1": 2}}, {"l": {"0": 5, "1": 9}}]) == ({0: 5, 1: 2}, {0: 5, 1: 2})


def test_an_uncommitted_epoch_does_not_count(tmp_path: Path) -> None:
    """Nor do the files that Hadoop keeps beside each one."""
    for name in ("commits/9", "commits/10", "commits/.11.crc"):
        write(tmp_path / name, "v1\n{}")
    for epoch in (9, 10, 11):
        write(tmp_path / f"offsets/{epoch}", f'v1\n{{}}\n{{"l":{{"0":{epoch}}}}}\n-')
    assert committed_in_checkpoint(replace(SPEC, checkpoint=f"file://{tmp_path}")) == ({0: 10}, {})


@pytest.mark.parametrize("damaged", [None, "", "v1", "v1\n{}\nnonsense", "v1\n{}\n[1]", 'v1\n{}\n{"l":1}'])
def test_without_a_commit_that_can_be_read_nothing_is_known(tmp_path: Path, damaged: str | None) -> None:
    assert committed_in_checkpoint(replace(SPEC, checkpoint=str(tmp_path))) == ({}, {})
    write(tmp_path / "commits/0", "v1\n{}")
    if damaged is not None:
        write(tmp_path / "offsets/0", damaged)
    assert committed_in_checkpoint(replace(SPEC, checkpoint=str(tmp_path))) == ({}, {})


def write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)
