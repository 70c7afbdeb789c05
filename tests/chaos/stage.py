"""The parts of a run, which are a broker, topics, a server and viewers, and the faults that they suffer.

The server alone goes through the proxy: producers and the oracle reach the broker directly.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Self

import httpx
from confluent_kafka import Consumer, Producer, TopicPartition
from tests.chaos.disk import SmallDisk
from tests.chaos.schedule import Kind, Step
from tests.chaos.server import Server
from tests.chaos.topics import Sources, wired
from tests.chaos.viewers import Crowd, Follower, Witness
from tests.proxy import Proxy
from tests.serving.inside import PLACE
from tests.serving.rig import ACCOUNTS, USERS, config, settings
from tests.waiting import wait_until

from evertable.broker import EmbeddedBroker
from evertable.errors import BrokerError

VIEWERS = 8
RECORDS = 200
"""The records in each topic at the beginning."""
PER_SECOND = 100
FIRST_S = 600
BROKER_STARTS = 3
LATENCY_MS = 200.0
"""The delay in each direction: a round trip takes twice as long."""


class Stage:
    """All parts of a run, for the block; ``report`` gets a line for each result."""

    def __init__(
        self,
        broker: EmbeddedBroker,
        proxy: Proxy,
        folder: Path,
        seed: int,
        report: Callable[[str], None],
        *,
        small_disk: bool,
    ) -> None:
        self.app = f"chaos{seed}-{os.getpid()}"
        self.broker = broker
        self.proxy = proxy
        self.sources = Sources(broker.bootstrap, self.app, seed)
        self.disk = SmallDisk(folder / "checkpoints", wanted=small_disk)
        topics = self.sources.names["users", "a"], self.sources.names["accounts", "a"]
        sections: dict[str, Any] = {
            "sources": {
                "users": {"topic": topics[0], "key": "userId", "columns": {**USERS, **PLACE["u"]}},
                "accounts": {"topic": topics[1], "key": "userId", "columns": {**ACCOUNTS, **PLACE["a"]}},
            },
            "swap": {"linger_s": 2, "timeout_s": 60},
        }
        self.config = config(broker.bootstrap, self.app, topics, folder, **sections)
        self.server = Server(settings(proxy.bootstrap, self.app, topics, folder, **sections), folder)
        self.witness = Witness()
        self.crowd = Crowd(self.server.url, VIEWERS, self.witness)
        self._control = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
        self._report = report
        self._open = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as opening:
            opening.enter_context(self.disk)
            self.sources.create(RECORDS)
            opening.callback(self.server.close)
            self.server.start()
            self.wait(lambda: self.server.life.status.get("state") == "live", "the first generation", FIRST_S)
            opening.enter_context(self.sources.flow(PER_SECOND))
            opening.enter_context(self.crowd)
            opening.enter_context(Follower(self.server.url, "final_ui", self.witness))
            self._open = opening.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def wait(self, done: Callable[[], object], what: str, timeout_s: float) -> None:
        """Waits for a condition on the server, which may not respond at the moment or need a restart."""

        def answered() -> object:
            try:
                return done()
            except httpx.TransportError:
                self.server.heal()
                time.sleep(0.2)
                return False

        wait_until(answered, what, timeout_s)

    def do(self, step: Step) -> None:
        """Carries out a step of the schedule."""
        what, heals = step.act.what, step.heals
        match step.act.kind:
            case Kind.SWAP_BY_TOPIC:
                self.send_control(json.dumps(wired(what, self.sources.names)))
            case Kind.NONSENSE:
                self.send_control(what["value"])
            case Kind.SWAP_BY_POST:
                self._post("/api/control", wired(what, self.sources.names))
            case Kind.ROLLBACK:
                self._post("/api/rollback", {})
            case Kind.BROKER_KILL:
                self._start_broker() if heals else self.broker.kill()
            case Kind.BROKER_PAUSE:
                os.kill(self.broker.pid, signal.SIGCONT if heals else signal.SIGSTOP)
            case Kind.SPARK_KILL:
                if not self.server.kill_spark():
                    self._report("    there is no JVM at the moment")
            case Kind.SERVER_KILL:
                self.server.heal() if heals else self.server.kill(with_spark=what["with"] == "Spark")
            case Kind.SLOW_VIEWERS:
                self.crowd.stall(range(what["viewers"]), stalled=not heals)
            case Kind.RECREATION:
                self.sources.recreate((what["side"], what["letter"]), what["records"])
            case Kind.DISK_FULL:
                self._fill_disk(heals)
            case Kind.CONNECTIONS_DROPPED:
                self._report(f"    {self.proxy.drop_established()} connections")
            case Kind.BLACK_HOLE:
                self.proxy.heal() if heals else self.proxy.black_hole()
            case Kind.LATENCY:
                self.proxy.delay_ms = 0.0 if heals else LATENCY_MS

    def heal(self) -> None:
        """Repairs everything."""
        if self.broker.running:
            os.kill(self.broker.pid, signal.SIGCONT)
        self._start_broker()
        self.proxy.heal()
        self.disk.free()
        self.crowd.stall(range(VIEWERS), stalled=False)
        self.server.heal()

    def control_end(self) -> int:
        """Returns the end offset of the control topic, read without the proxy."""
        assert self._control.flush(60) == 0
        consumer = Consumer({"bootstrap.servers": self.broker.bootstrap, "group.id": "chaos", "log_level": 0})
        try:
            _, end = consumer.get_watermark_offsets(TopicPartition(self.config.control.topic, 0), timeout=60)
        finally:
            consumer.close()
        return int(end)

    def send_control(self, value: str) -> None:
        """Sends a control message with a foreign producer, which queues it while Kafka is unreachable."""
        self._control.produce(self.config.control.topic, value)
        self._control.poll(0)

    def _post(self, path: str, body: Mapping[str, str]) -> None:
        try:
            answer = self.server.life.http.post(path, json=body)
        except httpx.TransportError as error:
            self._report(f"    no response: {error!r}")
            return
        self._report(f"    {answer.status_code} {answer.text[:200]}")
        if answer.status_code == 500:
            self.witness.problem(f"POST {path} returned {answer.text[:200]}")

    def _start_broker(self) -> None:
        """Starts the broker, more than once if a busy machine is too slow for the embedded broker's timeout."""
        for _ in range(BROKER_STARTS):
            with suppress(BrokerError):
                self.broker.start()
                return
        self.broker.start()

    def _fill_disk(self, heals: bool) -> None:
        if not self.disk.mounted:
            self._report("    skipped: mounting a tmpfs requires root")
        elif heals:
            self.disk.free()
        else:
            self.disk.fill()
