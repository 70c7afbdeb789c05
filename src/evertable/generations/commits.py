"""Finds out where a generation's changelog ended at each commit of its query, without blocking other threads."""

from __future__ import annotations

import threading
from collections.abc import Callable

import structlog
from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import OffsetSpec

from evertable.background import run_in_background
from evertable.changelog.resumption import ChangelogEnd, shortfall
from evertable.config import Config
from evertable.engine.committed import Ends
from evertable.errors import ChangelogError, EvertableError, KafkaUnreachableError
from evertable.kafka.admin import AdminPool
from evertable.kafka.topics import describe

RETRY_S = 0.5

log = structlog.get_logger()


class Commits:
    """Calls ``on_commit`` with each commit of a query and where its changelog ended then.

    Of several commits that arrive while Kafka is asked, only the newest counts. If the changelog is another topic than
    at the previous commit (``last``, at first) or has lost records, ``on_failure`` is called instead, and further
    commits are ignored: a later resume would otherwise trust an incomplete changelog.
    """

    def __init__(
        self,
        ask: Callable[[], ChangelogEnd],
        on_commit: Callable[[Ends, ChangelogEnd], None],
        on_failure: Callable[[Exception], None] = lambda error: None,
        last: ChangelogEnd | None = None,
    ) -> None:
        self._ask = ask
        self._on_commit = on_commit
        self._on_failure = on_failure
        self._last = last
        self._lock = threading.Lock()
        self._pending: Ends | None = None
        self._is_working = False
        self._closed = threading.Event()

    def committed(self, ends: Ends) -> None:
        """Notes that the query has committed these source offsets; returns at once."""
        with self._lock:
            self._pending = ends
            if not self._is_working:
                self._is_working = True
                run_in_background(self._work, "evertable-commits")

    def close(self) -> None:
        """Ends the work soon; may be called on any thread."""
        self._closed.set()

    def _work(self) -> None:
        while True:
            with self._lock:
                ends, self._pending = self._pending, None
                if ends is None or self._closed.is_set():
                    self._is_working = False
                    return
            try:
                self._take(ends, self._ask())
            except KafkaUnreachableError:
                with self._lock:
                    self._pending = self._pending or ends
                self._closed.wait(RETRY_S)
            except EvertableError as error:
                log.warning("changelog_end_unknown", error=str(error))  # the next commit asks again

    def _take(self, ends: Ends, end: ChangelogEnd) -> None:
        if self._last is not None and (why := shortfall(self._last, end)):
            self.close()
            self._on_failure(ChangelogError(why, "Its generation is rebuilt."))
            return
        self._last = end
        self._on_commit(ends, end)


def changelog_end(
    config: Config, topic: str, admins: AdminPool | None = None, *, timeout_s: float = 5.0
) -> ChangelogEnd:
    """Returns the changelog's topic id and where it ends now; TopicNotFoundError, KafkaUnreachableError."""
    admin = (admins or AdminPool()).of(config.changelog_kafka.for_librdkafka())
    try:
        found = describe(admin, topic, timeout_s)
        latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
        asked = {TopicPartition(topic, partition): latest for partition in found.partitions}
        answers = admin.ask(lambda client: client.list_offsets(asked, request_timeout=timeout_s), timeout_s)
        ends = {partition.partition: answer.result().offset for partition, answer in answers.items()}
    except KafkaException as problem:
        raise admin.explain(problem, topic) from problem
    return ChangelogEnd(found.id, ends)
