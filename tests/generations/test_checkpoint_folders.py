"""No two apps share a checkpoint folder, however they are named."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from evertable.engine.spec import local_path
from evertable.generations.checkpoint_folders import CheckpointFolder, folder_of, name_beside

FIRST = name_beside("demo", "first")


def test_the_first_app_of_a_name_takes_the_plain_folder(tmp_path: Path) -> None:
    """Each keeps its folder over restarts, also if the plain one was written before folders had owners."""
    root = str(tmp_path)
    (tmp_path / "demo" / "g000001").mkdir(parents=True)
    assert "/" not in name_beside("demo", "a/b+c")
    for _ in range(2):
        assert folder_of(root, "demo", "first") == f"{root}/demo"
        assert folder_of(root, "demo", "a/b+c") == f"{root}/{name_beside('demo', 'a/b+c')}"
        assert folder_of(root, "demo.x", "third") == f"{root}/demo.x"


def test_without_ids_there_is_one_folder(tmp_path: Path) -> None:
    assert folder_of(str(tmp_path), "demo", None) == f"{tmp_path}/demo"
    assert list(tmp_path.iterdir()) == []


def test_an_app_whose_folder_cannot_be_taken_shares_none(tmp_path: Path) -> None:
    """A full disk is such a case. The app stays in the folder that it used."""
    root = tmp_path / "root"
    root.touch()
    assert folder_of(str(root), "demo", "first") == f"{root}/{FIRST}"
    root.unlink()
    (root / FIRST).mkdir(parents=True)
    assert folder_of(str(root), "demo", "first") == f"{root}/{FIRST}"
    assert folder_of(str(root), "demo", "second") == f"{root}/demo"


def test_an_object_store_has_a_folder_for_each_id() -> None:
    """Old checkpoints stay there: a forgotten app that is started again must not resume from them."""
    assert folder_of("s3a://b/c", "demo", "first") == f"s3a://b/c/{FIRST}"


@pytest.mark.parametrize("scheme", ["", "file:", "file://"])
def test_a_folder_is_local_however_it_is_spelled(tmp_path: Path, scheme: str) -> None:
    folder = CheckpointFolder(f"{scheme}{tmp_path}")
    (tmp_path / "g000007").mkdir()
    assert folder.generations() == [7]
    folder.delete(7)
    assert folder.generations() == []
    assert local_path("hdfs://h/c") is None


def test_a_checkpoint_is_deleted_while_a_stopped_task_still_writes(tmp_path: Path) -> None:
    folder = CheckpointFolder(str(tmp_path))
    late, begun = Path(folder.of(3)) / "state" / "0", threading.Event()

    def write() -> None:
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            with suppress(OSError):  # its parent has just been deleted
                late.mkdir(parents=True, exist_ok=True)
            begun.set()

    task = threading.Thread(target=write)
    task.start()
    begun.wait()
    folder.delete(3)
    task.join()
    assert folder.generations() == []
