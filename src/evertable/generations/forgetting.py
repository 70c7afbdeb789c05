"""Deletes everything that one app owns: its topics, its checkpoints and its log."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from evertable.config import KafkaProperties
from evertable.config.loading import state_dir
from evertable.engine.spec import local_path
from evertable.generations.checkpoint_folders import checkpoints_in, name_beside, owner, owner_file
from evertable.kafka.admin import Admin
from evertable.kafka.topics import delete
from evertable.state.apps import InstalledApp
from evertable.state.state import AppState


@dataclass(frozen=True)
class OwnedResources:
    """What one app owns, and what it does not own although a reader may expect it."""

    topics: tuple[str, ...]
    files: tuple[Path, ...]
    """Checkpoint folders and the log, on this machine."""
    kept: tuple[str, ...]
    """Sentences about what is not deleted."""

    def __bool__(self) -> bool:
        return bool(self.topics or self.files)


def belongings(app: InstalledApp, others: Iterable[InstalledApp], state_id: str | None) -> OwnedResources:
    """Finds what the app owns whose state topic has that id. A topic that another app reads is kept."""
    users = {topic: next((other.name for other in others if other.uses(topic)), "") for topic in app.topics}
    kept = [f"Topic {topic}: the app '{other}' reads it." for topic, other in users.items() if other]
    control = {record.topic for record in app.state.control.values()} - {"", *app.topics}
    kept += [f"Topic {topic}: a control topic that other apps may read." for topic in sorted(control)]
    files = local_files(app.name, app.state, state_id)
    checkpoint = app.state.live.checkpoint if app.state.live else ""
    where = local_path(checkpoint)
    if checkpoint and (where is None or not where.exists()):
        kept.append(f"Checkpoint {checkpoint}: it is not on this machine.")
    plain = state_dir() / "checkpoints" / app.name
    if _has_another_owner(plain, state_id):
        kept.append(f"Folder {plain}: its owner is an app of that name on another Kafka, or one whose state is gone.")
    return OwnedResources(tuple(topic for topic, other in users.items() if not other), tuple(files), tuple(kept))


def local_files(app: str, state: AppState, state_id: str | None) -> list[Path]:
    """Returns the checkpoints of the app's generations and its log, if they are on this machine."""
    if app in (".", ".."):  # these are folders of all apps
        return []
    root = state_dir()
    plain, log = root / "checkpoints" / app, root / app / "spark.log"
    folders = {folder for folder in (checkpoint_folder(app, state), plain) if folder}
    if state_id:
        folders |= {folder.with_name(name_beside(app, state_id)) for folder in folders}
    own = [folder for folder in folders if not _has_another_owner(folder, state_id)]
    found = [path for folder in own for path in checkpoints_in(folder)]
    marks = {owner_file(folder.parent, app) for folder in own if folder.name == app}
    rest = [*sorted(marks), *([log] if plain in own else [])]
    return [*sorted(found), *(path for path in rest if path.is_file())]


def checkpoint_folder(app: str, state: AppState) -> Path | None:
    """Returns the folder of the app's checkpoints by its state; None if it is not on this machine."""
    checkpoint = local_path(state.live.checkpoint) if state.live else None
    folder = checkpoint.parent if checkpoint else None
    return folder if folder and folder.name.partition("@")[0] == app and folder.is_dir() else None


def _has_another_owner(folder: Path, state_id: str | None) -> bool:
    """Returns whether an app of the same name with another state topic has taken the folder."""
    return owner(folder.parent, folder.name) not in (None, state_id)


def delete_files(files: Iterable[Path]) -> None:
    """Deletes these, and their folders that become empty."""
    for path in files:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        with suppress(OSError):  # it is not empty
            path.parent.rmdir()


def delete_topics(kafka: KafkaProperties, topics: Sequence[str]) -> None:
    """Deletes these and waits until they are gone."""
    admin = Admin(kafka.for_librdkafka())
    for topic in topics:
        delete(admin, topic)
