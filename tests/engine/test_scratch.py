"""Scratch folders are kept while a process holds them locked, and removed afterwards."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from evertable.engine import scratch
from evertable.engine.launch import Child, EngineSettings


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_locked_folder_is_kept_and_any_other_is_removed(temporary: Path) -> None:
    """A power cut leaves such a folder behind."""
    folder, held = scratch.create()
    (folder / "state").mkdir()
    (folder / "state" / "000001.sst").write_bytes(b"x")
    other, held_too = scratch.create()
    assert folder.exists()
    os.close(held)
    third, held_last = scratch.create()
    assert not folder.exists()
    assert sorted(temporary.iterdir()) == sorted([other, third])
    os.close(held_too)
    os.close(held_last)


def test_a_process_that_was_given_the_file_holds_the_folder(temporary: Path) -> None:
    folder, held = scratch.create()
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, pass_fds=[held])
    os.close(held)
    scratch.sweep(temporary)
    assert folder.exists()
    child.kill()
    child.communicate()
    scratch.sweep(temporary)
    assert not folder.exists()


def test_only_scratch_folders_are_swept(temporary: Path) -> None:
    (temporary / "somebody-elses").mkdir()
    (temporary / f"{scratch.PREFIX}file").write_text("not a folder, and not ours to judge")
    (temporary / f"{scratch.PREFIX}link").symlink_to(temporary / "somebody-elses")
    scratch.sweep(temporary)
    assert len(list(temporary.iterdir())) == 3


def test_a_child_that_cannot_be_started_leaves_no_folder(temporary: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Child(EngineSettings(), [str(temporary / "no-such-program")])
    assert list(temporary.glob(f"{scratch.PREFIX}*")) == []
