"""A generation whose changelog lacks records is rebuilt, not resumed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from unittest import mock

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from tests.serving.conftest import Configured
from tests.serving.faults import fresh_name, make_topic
from tests.serving.rig import App, Records, config
from tests.waiting import wait_until

from evertable.broker import EmbeddedBroker
from evertable.changelog.reader import ChangelogReader
from evertable.errors import KafkaUnreachableError
from evertable.generations import build


def sorted_rows(app: App) -> list[str]:
    return sorted(map(str, app.rows("final_ui")))


def cut_off_the_end(data: Path, topic: str) -> None:
    """Removes half of a partition's records from a stopped broker, as a disk that loses writes does."""
    (log,) = (data / "kafka" / f"{topic}-0").glob("*.log")
    with log.open("r+b") as file:
        file.truncate(log.stat().st_size // 2)
    for index in (*log.parent.glob("*.index"), *log.parent.glob("*.timeindex")):
        index.unlink()
    for name in (".kafka_cleanshutdown", "recovery-point-offset-checkpoint"):
        (data / "kafka" / name).unlink(missing_ok=True)


def test_a_changelog_that_lost_its_end_causes_a_rebuild(tmp_path: Path) -> None:
    """New records may follow the loss."""
    data, topics, app = tmp_path / "broker", (fresh_name("users"), fresh_name("accounts")), fresh_name("r")
    with EmbeddedBroker(data_dir=data) as broker:
        for topic in topics:
            make_topic(broker.bootstrap, topic, 1)
        for part in range(5):  # several messages: only whole ones are lost
            Records(broker.bootstrap).fill(topics, f"part{part}", 10, 20)
        configuration = config(broker.bootstrap, app, topics, tmp_path)
        with App(configuration) as first:
            generation = first.wait_live()["generation"]
            rows = len(sorted_rows(first))
            for number in range(20):
                Records(broker.bootstrap).send(topics[0], [{"userId": f"late{number}", "name": "late", "age": 1}])
            wait_until(lambda: len(sorted_rows(first)) == rows + 20)
            epoch = first.rows("generations")[0]["epoch"]
            wait_until(lambda: first.rows("generations")[0]["epoch"] > epoch, "a commit of the late records")
        broker.stop()
        cut_off_the_end(data, f"evertable.{app}.g{generation:06d}")
        broker.start()
        Records(broker.bootstrap).send(topics[0], [{"userId": "new", "name": "new", "age": 1}])
        with App(configuration) as again:
            assert again.wait_live()["generation"] > generation
            wait_until(lambda: len(sorted_rows(again)) == rows + 21, lambda: f"{len(sorted_rows(again))}")
            why = f"Generation {generation} cannot go on: "
            reasons = [line for line in again.logs if line.startswith(why)]
            assert "The changelog is incomplete" in str(reasons), again.logs


def test_a_generation_is_resumed_after_its_source_records_expired(
    broker: EmbeddedBroker, configured: Configured, records: Records, new_topic: Callable[..., str]
) -> None:
    """The changelog is read to its end, although no source record is left to wait for."""
    topics = (new_topic(1), new_topic(1))
    records.fill(topics, "x", 10, 20)
    configuration = configured(topics)
    with App(configuration) as first:
        before = first.wait_live()
        for number in range(50):  # each a separate message of the changelog
            records.send(topics[1], [{"userId": f"u{number % 10}", "accountType": "one", "balance": float(number)}])
        wait_until(lambda: len(sorted_rows(first)) == 70)
        rows = sorted_rows(first)
        epoch = first.rows("generations")[0]["epoch"]
        wait_until(lambda: first.rows("generations")[0]["epoch"] > epoch, "a commit of all of it")
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for answer in admin.delete_records([TopicPartition(topic, 0, -1) for topic in topics]).values():
        answer.result()
    slow = partial(ChangelogReader, max_messages=1)
    with mock.patch.object(build, "ChangelogReader", slow), App(configuration) as again:
        after = again.wait_live()
        assert sorted_rows(again) == rows
        assert after["generation"] == before["generation"]


def test_a_short_outage_during_a_resume_causes_no_rebuild(
    configured: Configured, records: Records, new_topic: Callable[..., str]
) -> None:
    """The request is retried."""
    topics = (new_topic(1), new_topic(1))
    records.fill(topics, "x", 10, 20)
    configuration = configured(topics)
    with App(configuration) as first:
        generation = first.wait_live()["generation"]
    refusals = [KafkaUnreachableError("Kafka does not answer.")]

    class RefusingOnce(ChangelogReader):
        def end(self) -> dict[int, int]:
            if refusals:
                raise refusals.pop()
            return super().end()

    with mock.patch.object(build, "ChangelogReader", RefusingOnce), App(configuration) as again:
        assert again.wait_live()["generation"] == generation
    assert not refusals
