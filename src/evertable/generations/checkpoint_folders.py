"""Decides which folder holds an app's checkpoints: never one that an app of the same name on another Kafka uses.

An app's name is taken once for each Kafka and ``changelog.prefix``, and a checkpoint folder may serve several of these.
The first app of a name takes ``<folder>/<app>``, and notes the id of its state topic in ``<folder>/<app>@owner``. Any
other one has ``<folder>/<app>@<hash of that id>``. No app's name has an '@'.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import Path

from evertable.engine.spec import local_path


def folder_of(root: str, app: str, state_id: str | None) -> str:
    """Returns the folder of the app whose state topic has that id, and takes the plain one if nobody has.

    Without an id (brokers before 2.8) nothing can be told apart, and the plain one is everybody's.
    """
    plain, local = f"{root}/{app}", local_path(root)
    if state_id is None:
        return plain
    own = f"{root}/{name_beside(app, state_id)}"
    if local is None or (local / name_beside(app, state_id)).exists():
        return own
    with suppress(OSError):  # of a full disk, for instance: then it is not known to be ours
        local.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError), owner_file(local, app).open("x", encoding="utf-8") as file:
            file.write(state_id)
    return plain if owner(local, app) == state_id else own


def name_beside(app: str, state_id: str) -> str:
    """What the folder of another app of that name is called; ids themselves may have a slash."""
    return f"{app}@{hashlib.sha256(state_id.encode()).hexdigest()[:12]}"


def owner_file(root: Path, app: str) -> Path:
    return root / f"{app}@owner"


def owner(root: Path, app: str) -> str | None:
    """The id of the state topic whose app took the plain folder; None if none did."""
    try:
        return owner_file(root, app).read_text(encoding="utf-8")
    except OSError:
        return None
