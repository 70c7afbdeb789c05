"""The folder of an app's checkpoints; no app of the same name on another Kafka shares it.

An app's name is unique on one Kafka with one ``changelog.prefix``, but several of these may use one checkpoint folder.
The first app of a name takes ``<folder>/<app>``, and writes the id of its state topic to ``<folder>/<app>@owner``. Any
other one has ``<folder>/<app>@<hash of that id>``. No app's name contains an '@'.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import time
from contextlib import suppress
from pathlib import Path

from evertable.engine.spec import local_path

DELETE_S, DELETE_RETRY_S = 5.0, 0.1
"""How long deleting a checkpoint may take, and the pause between two attempts."""


class CheckpointFolder:
    """The checkpoints of an app's generations; in another file system than the local one they are never deleted."""

    def __init__(self, root: str) -> None:
        self._root = root

    def of(self, generation: int) -> str:
        return f"{self._root}/g{generation:06d}"

    def generations(self) -> list[int]:
        root = local_path(self._root)
        return [] if root is None else [int(path.name[1:]) for path in checkpoints_in(root)]

    def delete(self, generation: int) -> None:
        """Deletes a generation's checkpoint.

        A task that was just stopped may still write there. What is left after a while, the next start deletes.
        """
        path = local_path(self.of(generation))
        deadline = time.monotonic() + DELETE_S
        while path is not None and path.exists() and time.monotonic() < deadline:
            shutil.rmtree(path, ignore_errors=True)
            time.sleep(DELETE_RETRY_S)


def checkpoints_in(folder: Path) -> list[Path]:
    found = folder.iterdir() if folder.is_dir() else ()
    return sorted(path for path in found if re.fullmatch("g[0-9]{6,}", path.name))


def folder_of(root: str, app: str, state_id: str | None) -> str:
    """Returns the folder of the app whose state topic has that id, and takes the plain one if it is free.

    Without an id (brokers before 2.8) apps cannot be distinguished, and all use the plain one.
    """
    plain, local = f"{root}/{app}", local_path(root)
    if state_id is None:
        return plain
    own = f"{root}/{name_beside(app, state_id)}"
    if local is None or (local / name_beside(app, state_id)).exists():
        return own
    with suppress(OSError):  # such as a full disk: then the plain folder is not taken
        local.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError), owner_file(local, app).open("x", encoding="utf-8") as file:
            file.write(state_id)
    return plain if owner(local, app) == state_id else own


def name_beside(app: str, state_id: str) -> str:
    """Returns the folder's name of another app of that name. It has a hash because ids may contain a slash."""
    return f"{app}@{hashlib.sha256(state_id.encode()).hexdigest()[:12]}"


def owner_file(root: Path, app: str) -> Path:
    return root / f"{app}@owner"


def owner(root: Path, app: str) -> str | None:
    """Returns the id of the state topic whose app took the plain folder; None if none did."""
    try:
        return owner_file(root, app).read_text(encoding="utf-8")
    except OSError:
        return None
