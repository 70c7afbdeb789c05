"""Faults for apps: topics created and deleted, changelogs that are not read, Spark killed."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from confluent_kafka.admin import AdminClient, NewTopic
from tests.processes import children
from tests.serving.inside import context
from tests.serving.rig import App
from tests.waiting import wait_until

from evertable.generations import running
from evertable.generations.feed import Feed


class HeldFeed(Feed):
    """Reads nothing until it is released."""

    released = threading.Event()

    def _run(self) -> None:
        while not self.released.wait(0.02):
            if self._closing.is_set():
                self._reader.close()
                return
        super()._run()


@contextmanager
def held_feeds() -> Iterator[threading.Event]:
    """Keeps generations that are built in this block from warming until the event is set."""
    HeldFeed.released.clear()
    with mock.patch.object(running, "Feed", HeldFeed):
        try:
            yield HeldFeed.released
        finally:
            HeldFeed.released.set()


def fresh_name(kind: str) -> str:
    return f"{kind}-{uuid.uuid4().hex[:12]}"


def make_topic(bootstrap: str, name: str, partitions: int = 2) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(name, partitions, 1)])[name].result()
    wait_until(lambda: name in admin.list_topics(timeout=30).topics)


def delete_topic(bootstrap: str, name: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.delete_topics([name])[name].result()
    wait_until(lambda: name not in admin.list_topics(timeout=30).topics)


def changelogs(bootstrap: str, app: str) -> list[str]:
    """Lists the app's changelogs."""
    topics = AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=30).topics
    return sorted(name for name in topics if name.startswith(f"evertable.{app}.g"))


def user(number: int, mark: str = "a") -> dict[str, Any]:
    return {"userId": f"u{number}", "name": f"{mark} {number}", "age": number}


def names(app: App) -> set[str]:
    return {row["name"] for row in app.rows("users_ui")}


def live_row(app: App) -> dict[str, Any]:
    """Returns the live generation's row in ``generations``."""
    return next(row for row in app.rows("generations") if row["state"] == "live")


def wait_for_row(app: App, name: str) -> None:
    wait_until(lambda: name in names(app), f"the row {name}")


def jvm_of(app: App) -> int:
    """Returns the process id of Spark, the engine's child."""
    pid = context(app).engine.pid
    assert pid is not None
    return next(child for child in children(pid) if "java" in Path(f"/proc/{child}/comm").read_text())
