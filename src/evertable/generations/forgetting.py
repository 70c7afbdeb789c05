"""Deletes everything that one app owns: its topics, its checkpoints and its log."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from evertable.config import KafkaProperties, Role
from evertable.config.loading import state_dir
from evertable.config.names import STATE
from evertable.kafka.admin import Admin
from evertable.kafka.topics import delete
from evertable.state.apps import InstalledApp
from evertable.state.state import AppState

_GENERATION = re.compile(r"g[0-9]{6,}")


@dataclass(frozen=True)
class OwnedResources:
    """What one app owns, and what it does not but a reader may expect."""

    topics: tuple[str, ...]
    files: tuple[Path, ...]
    """Folders of checkpoints and the log, on this machine."""
    kept: tuple[str, ...]
    """Sentences about what is not deleted."""

    def __bool__(self) -> bool:
        return bool(self.topics or self.files)


def belongings(app: InstalledApp, others: Iterable[InstalledApp]) -> OwnedResources:
    """Finds what the app owns; a topic that another app reads is not among it."""
    users = {topic: next((other.name for other in others if other.uses(topic)), "") for topic in app.topics}
    kept = [f"Topic {topic}: the app '{other}' reads it." for topic, other in users.items() if other]
    control = {record.topic for record in app.state.control.values()} - {"", *app.topics}
    kept += [f"Topic {topic}: a control topic that other apps may read." for topic in sorted(control)]
    files = local_files(app.name, app.state)
    checkpoint = app.state.live.checkpoint if app.state.live else ""
    if checkpoint and not any(str(path) == checkpoint.removeprefix("file://") for path in files):
        kept.append(f"Checkpoint {checkpoint}: it is not on this machine.")
    return OwnedResources(tuple(topic for topic, other in users.items() if not other), tuple(files), tuple(kept))


def local_files(app: str, state: AppState) -> list[Path]:
    """The checkpoints of the app's generations and its log, as far as they are on this machine."""
    if app in (".", ".."):  # those are folders of all apps
        return []
    root = state_dir()
    folders = {checkpoint_folder(app, state), root / "checkpoints" / app} - {None}
    found = [path for folder in folders if folder and folder.is_dir() for path in folder.iterdir()]
    log = root / app / "spark.log"
    return [*sorted(path for path in found if _GENERATION.fullmatch(path.name)), *([log] if log.is_file() else [])]


def checkpoint_folder(app: str, state: AppState) -> Path | None:
    """The folder of the app's checkpoints by its state; None if that is not on this machine."""
    checkpoint = state.live.checkpoint.removeprefix("file://") if state.live else ""
    folder = Path(checkpoint).parent
    return folder if checkpoint and "://" not in checkpoint and folder.name == app and folder.is_dir() else None


def delete_files(files: Iterable[Path]) -> None:
    """Deletes these, and the folders around them that become empty."""
    for path in files:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        with suppress(OSError):  # it is not empty
            path.parent.rmdir()


def delete_topics(kafka: KafkaProperties, topics: Sequence[str]) -> None:
    """Deletes these and waits until they are gone; the state last, for as long as it is there this can be repeated."""
    admin = Admin(kafka.for_librdkafka(Role.ADMIN))
    for topic in sorted(topics, key=lambda name: name.endswith(f".{STATE}")):
        delete(admin, topic)
