"""Finds the apps that have topics on a Kafka cluster, and what is known of each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass

from evertable.changelog.names import generation_of
from evertable.config import KafkaProperties, Role
from evertable.config.names import CONTROL, STATE, OwnTopics
from evertable.errors import StateFormatError
from evertable.kafka.topics import topic_names
from evertable.shutdown import Shutdown
from evertable.state.ownership import LEASE_S, LEAVING_S, Ownership
from evertable.state.reading import fold, running_owner, wait_for_leaving
from evertable.state.records import Owner
from evertable.state.state import AppState, StateFold
from evertable.state.state_log import StateLog

TIMEOUT_S = 10.0
AT_ONCE = 8
"""Apps whose state is read at the same time: each may take the whole lease."""


@dataclass(frozen=True)
class InstalledApp:
    """An app that has topics, and what its state topic says."""

    name: str
    topics: tuple[str, ...]
    """Its state, its changelogs, and the control topic that is its own."""
    state: AppState
    running: Owner | None = None
    """Who runs it just now."""
    problem: str = ""
    """Why its state cannot be read; empty if it can."""

    def uses(self, topic: str) -> bool:
        """Whether it reads that topic, as a source or for control messages."""
        wirings = [self.state.previous, self.state.live.wiring if self.state.live else None]
        sources = {each for wiring in wirings if wiring for each in (wiring.left_topic, wiring.right_topic)}
        return topic in sources | {record.topic for record in self.state.control.values()}


def topics_by_app(names: Iterable[str], prefix: str) -> dict[str, tuple[str, ...]]:
    """Groups Evertable's own topics by app.

    What follows the last dot says what a topic is, so an app's name may have dots itself: ``demo`` and ``demo.x`` never
    mix. A control topic alone makes no app: it may be anybody's.
    """
    own = re.compile(rf"{re.escape(prefix)}\.(?P<app>.+)\.(?P<kind>{STATE}|{CONTROL}|g[0-9]+)")
    found: dict[str, list[str]] = {}
    for name in sorted(names):
        match = own.fullmatch(name)
        if match and (match["kind"] in (STATE, CONTROL) or generation_of(prefix, match["app"], name)):
            found.setdefault(match["app"], []).append(name)
    alone = {app for app, topics in found.items() if topics == [OwnTopics(prefix, app, "").default_control]}
    return {app: tuple(topics) for app, topics in found.items() if app not in alone}


def find_apps(kafka: KafkaProperties, prefix: str, wait_s: float = LEASE_S) -> list[InstalledApp]:
    """Lists the apps by name; an owner that has not left is waited for, for ``wait_s``. KafkaUnreachableError."""
    grouped = topics_by_app(topic_names(kafka.for_librdkafka(Role.ADMIN), timeout_s=TIMEOUT_S), prefix)
    with ThreadPoolExecutor(AT_ONCE, "evertable-apps") as pool:
        found = pool.map(lambda app: _found(kafka, prefix, app, grouped[app], wait_s), grouped)
        return sorted(found, key=lambda app: app.name)


def running_now(kafka: KafkaProperties, prefix: str, app: str, wait_s: float = LEASE_S) -> Owner | None:
    """Returns who runs the app; one that is stopping just now is waited for."""
    ownership = Ownership("")
    with closing(_log(kafka, prefix, app).reader()) as reader:
        fold(reader.to_the_end(), ownership)
        running = running_owner(reader, ownership, None, wait_s, Shutdown())
        if running is None and any(sign.owner.leaving for sign in ownership.others):
            wait_for_leaving(reader, ownership, LEAVING_S)
        return running


def _found(kafka: KafkaProperties, prefix: str, app: str, topics: Sequence[str], wait_s: float) -> InstalledApp:
    if f"{prefix}.{app}.{STATE}" not in topics:
        return InstalledApp(app, tuple(topics), AppState())
    ownership, memory = Ownership(""), StateFold()
    try:
        with closing(_log(kafka, prefix, app).reader()) as reader:
            fold(reader.to_the_end(), ownership, memory)
            running = running_owner(reader, ownership, memory, wait_s, Shutdown())
            return InstalledApp(app, tuple(topics), memory.state(), running)
    except StateFormatError as error:
        return InstalledApp(app, tuple(topics), AppState(), problem=error.what)


def _log(kafka: KafkaProperties, prefix: str, app: str) -> StateLog:
    return StateLog(kafka, f"{prefix}.{app}.{STATE}", 1, TIMEOUT_S)
