"""Discovery of the apps that have topics on a Kafka cluster."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass

from evertable.changelog.topics import generation_of
from evertable.config import KafkaProperties
from evertable.config.names import CONTROL, STATE, OwnTopics
from evertable.errors import StateFormatError
from evertable.kafka.topics import topic_names
from evertable.shutdown import Shutdown
from evertable.state.ownership import LEASE_S, LEAVING_S, Ownership
from evertable.state.records import Owner
from evertable.state.state import AppState, StateFold
from evertable.state.state_log import StateLog

TIMEOUT_S = 10.0
CONCURRENT_READS = 8
"""How many apps' states are read at the same time; each may take the whole lease."""


@dataclass(frozen=True)
class InstalledApp:
    """An app that has topics, and the state in its state topic."""

    name: str
    topics: tuple[str, ...]
    """Its own topics: state, changelogs and control."""
    state: AppState
    running: Owner | None = None
    """The owner that runs it now."""
    problem: str = ""
    """Why its state cannot be read; empty if it can."""

    def uses(self, topic: str) -> bool:
        """Returns whether it reads that topic, as a source or for control messages."""
        wirings = [self.state.previous, self.state.live.wiring if self.state.live else None]
        sources = {each for wiring in wirings if wiring for each in (wiring.left_topic, wiring.right_topic)}
        return topic in sources | {record.topic for record in self.state.control.values()}


def topics_by_app(names: Iterable[str], prefix: str) -> dict[str, tuple[str, ...]]:
    """Groups Evertable's own topics by app.

    The part after the last dot is the kind of topic, so an app's name may contain dots: ``demo`` and ``demo.x`` never
    mix. A control topic alone is not an app: anyone may have created it.
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
    """Lists the apps by name; waits up to ``wait_s`` for a heartbeat of owners that have not left."""
    grouped = topics_by_app(topic_names(kafka.for_librdkafka(), timeout_s=TIMEOUT_S), prefix)
    with ThreadPoolExecutor(CONCURRENT_READS, "evertable-apps") as pool:
        found = pool.map(lambda app: _found(kafka, prefix, app, grouped[app], wait_s), grouped)
        return sorted(found, key=lambda app: app.name)


def running_now(kafka: KafkaProperties, prefix: str, app: str, wait_s: float = LEASE_S) -> Owner | None:
    """Returns the owner that runs the app; waits for one that is stopping."""
    ownership = Ownership()
    with closing(_log(kafka, prefix, app).reader()) as reader:
        ownership.fold(reader.to_the_end())
        running = ownership.find_running(reader, wait_s, Shutdown())
        if running is None and any(each.owner.leaving for each in ownership.others):
            ownership.await_leaving(reader, LEAVING_S)
        return running


def _found(kafka: KafkaProperties, prefix: str, app: str, topics: Sequence[str], wait_s: float) -> InstalledApp:
    if f"{prefix}.{app}.{STATE}" not in topics:
        return InstalledApp(app, tuple(topics), AppState())
    ownership = Ownership(memory=(memory := StateFold()))
    try:
        with closing(_log(kafka, prefix, app).reader()) as reader:
            ownership.fold(reader.to_the_end())
            running = ownership.find_running(reader, wait_s, Shutdown())
            return InstalledApp(app, tuple(topics), memory.state(), running)
    except StateFormatError as error:
        return InstalledApp(app, tuple(topics), AppState(), problem=error.what)


def _log(kafka: KafkaProperties, prefix: str, app: str) -> StateLog:
    return StateLog(kafka, f"{prefix}.{app}.{STATE}", 1, TIMEOUT_S)
