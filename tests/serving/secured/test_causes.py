"""Each problem with a secured Kafka is reported with its cause, and ends without a restart once it is repaired."""

from __future__ import annotations

import subprocess
import sys
import uuid
from collections.abc import Iterable
from pathlib import Path

import pytest
from confluent_kafka.admin import NewTopic
from tests.certificates import Authority
from tests.serving.process import SERVE, Process
from tests.serving.rig import settings
from tests.serving.secured.cluster import PASSWORD, USER, Secured, joined, live, rights
from tests.serving.secured.leaks import in_topics, leaks, on_command_lines, on_disk, shown, spellings
from tests.waiting import wait_until

from evertable.changelog.reader import ChangelogReader
from evertable.changelog.schema import ChangelogSchema, Side
from evertable.config import Config
from evertable.errors import NotAuthorizedError
from evertable.generations.identity import identity_of
from evertable.generations.source_events import WatchEvent
from evertable.generations.watch import TopicWatch
from evertable.schema.columns import Column, ColumnType
from evertable.schema.joins import JoinType


def count(lines: Iterable[str], *words: str) -> int:
    """Counts the lines with all of these words."""
    return sum(all(word in line for word in words) for line in lines)


def wait_for_line(app: Process, *words: str, before: int = 0) -> None:
    """Waits until ``orchestrator_logs`` and the terminal have more than ``before`` lines with all of these words."""

    def reported() -> bool:
        return count(app.logs, *words) > before and count(app.lines, *words) > before

    wait_until(reported, lambda: f"{words} in\n" + "\n".join(app.logs))


def test_each_cause_is_reported_and_can_be_repaired(
    secured: Secured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The causes go from another host's certificate to the last missing right; in the end there are rows."""
    app, topics = f"t{uuid.uuid4().hex[:12]}", secured.topics("scram")
    needed = rights(app, topics)
    broker, stranger = secured.authority, Authority(tmp_path, "stranger")
    secured.password("another")
    secured.identity("scram", broker.identity("broker", at="DNS:elsewhere.example"))
    monkeypatch.setenv("PLANTED", PASSWORD)
    sections = settings("", app, topics, tmp_path, kafka=secured.kafka("scram", "${PLANTED}"))
    with Process(sections, tmp_path) as running:
        wait_for_line(running, "BROKER_NOT_TRUSTED", "is for another host than 127.0.0.1")
        secured.identity("scram", broker.identity("broker", expired=True))
        wait_for_line(running, "BROKER_NOT_TRUSTED", "has expired")
        secured.identity("scram", stranger.identity("broker"))
        wait_for_line(running, "BROKER_NOT_TRUSTED", "is from an unknown authority")
        secured.identity("scram", broker.identity("broker"))
        wait_for_line(running, "NOT_AUTHENTICATED", "rejected the login", "invalid credentials")
        secured.password(PASSWORD)
        wait_for_line(running, "NOT_AUTHORIZED", f"the right Describe on topic 'evertable.{app}.state'")
        secured.allow(needed["state"])
        wait_for_line(running, "NOT_AUTHORIZED", f"the right Write on transactional id 'evertable.{app}'")
        secured.allow(needed["lock"])
        wait_for_line(running, "NOT_AUTHORIZED", f"the right Describe on topic 'evertable.{app}.control'")
        secured.allow(needed["control"])
        wait_for_line(running, "NOT_AUTHORIZED", f"the right Describe on topic '{topics[0]}'")
        wait_for_line(running, "NOT_AUTHORIZED", f"the right Delete on topic 'evertable.{app}.g00000")
        secured.allow(needed["users"], needed["accounts"], needed["changelogs"])
        live(running)
        assert joined(running) == {"scram"}
        places = [*shown(running), *on_disk(tmp_path), *in_topics(secured.broker.bootstrap, app)]
        assert leaks(places, spellings(USER, PASSWORD))[0] == []


def test_an_expired_certificate_and_rights_revoked_at_runtime(secured: Secured, tmp_path: Path) -> None:
    """A replaced certificate is used. Without a right, tables stay as they are, and continue once it is granted."""
    app, topics = f"t{uuid.uuid4().hex[:12]}", secured.topics("certificate")
    needed = rights(app, topics)
    secured.allow(*needed.values())
    mine = secured.authority.identity(USER, expired=True)
    kafka = secured.kafka("certificate") | {"ssl.certificate.location": str(mine.certificate)}
    kafka["ssl.key.location"] = str(mine.key)
    with Process(settings("", app, topics, tmp_path, kafka=kafka), tmp_path) as running:
        wait_for_line(running, "NOT_AUTHENTICATED", "rejected the certificate of this client", "expired")
        mine.key.write_bytes(secured.client.key.read_bytes())
        mine.certificate.write_bytes(secured.client.certificate.read_bytes())
        generation = live(running)["generation"]
        assert joined(running) == {"certificate"}
        secured.forbid(needed["users"])
        wait_for_line(running, "The query of generation", "is started again", "Give its user", f"Read on '{topics[0]}'")
        secured.allow(needed["users"])
        secured.forbid(needed["control"])
        wait_for_line(
            running, "Control messages cannot be read", "NOT_AUTHORIZED", f"on topic 'evertable.{app}.control'"
        )
        secured.allow(needed["control"])
        wait_for_line(running, "are read again")
        secured.forbid(needed["changelogs"])
        wait_for_line(running, "cannot be read", "NOT_AUTHORIZED", f"on topic 'evertable.{app}.g00000")
        secured.records.send(topics[0], [{"userId": "u1", "name": "later", "age": 1}])
        wait_for_line(
            running, "The query of generation", "NOT_AUTHORIZED", "Give its user", f"Write on 'evertable.{app}.g00000"
        )
        secured.allow(needed["changelogs"])
        wait_for_line(running, "is read again")
        wait_until(lambda: running.rows("users_ui", filter="name = 'later'"), "the row sent meanwhile")
        assert generation == running.status["generation"]


def test_a_missing_right_is_reported_by_a_slow_broker_too(secured: Secured, monkeypatch: pytest.MonkeyPatch) -> None:
    """A late answer does not count as an outage forever: librdkafka reports nothing after it."""
    app = f"t{uuid.uuid4().hex[:12]}"
    topic, needed = f"evertable.{app}.g000001", rights(app, ("", ""))["changelogs"]
    secured.admin.create_topics([NewTopic(topic, 1, 1)])[topic].result()
    secured.allow(needed)
    columns = (Column("userId", ColumnType.parse("string")),)
    with ChangelogReader(
        secured.kafka("certificate"), topic, ChangelogSchema(columns, columns, JoinType.INNER)
    ) as reader:

        def denied() -> bool:
            try:
                reader.poll(0.1)
            except NotAuthorizedError:
                return True
            return False

        secured.forbid(needed)
        wait_until(denied, "the first refusal")
        with monkeypatch.context() as slow:
            slow.setattr("evertable.changelog.reader._CHECK_TIMEOUT_S", 0.001)
            reader.reopen()
        wait_until(denied, "the second", 60)


def test_a_second_cause_is_reported_during_an_outage(secured: Secured, tmp_path: Path) -> None:
    """The first may pass by itself, and the second may need a repair."""
    topics, broker = secured.topics("watched"), secured.authority
    secured.allow(*rights("watched", topics).values())
    wired = Config.model_validate(settings("", "watched", topics, tmp_path, kafka=secured.kafka("scram", "wrong")))
    reports: list[WatchEvent] = []
    watch = TopicWatch(reports.append)
    everything = {(Side.LEFT, 0): 10, (Side.RIGHT, 0): 20}  # all is read, so that nothing counts as stalled
    watch.add(7, wired, identity_of(wired, (None, None), ({0: 0}, {0: 0})), lambda: everything)

    def seen(times: int) -> list[str]:
        reports.clear()
        for _ in range(times):
            watch.poll()
        return [report.message for report in reports]

    (refused,) = seen(4)
    assert "rejected the login" in refused
    secured.identity("scram", broker.identity("broker", at="DNS:elsewhere.example"))
    (distrusted,) = seen(2)
    assert "is for another host" in distrusted
    secured.identity("scram", broker.identity("broker"))
    secured.password("wrong")
    assert seen(2) == [f"Kafka at {secured.address('scram')} answers again."]
    secured.password(PASSWORD)


def test_tokens_are_renewed_and_the_secret_does_not_leak(
    secured: Secured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The endpoint is down at the start, then renews three times without a gap, then is down again."""
    app, topics = f"t{uuid.uuid4().hex[:12]}", secured.topics("tokens")
    secured.allow(*rights(app, topics).values())
    monkeypatch.setenv("PLANTED", PASSWORD)
    sections = settings("", app, topics, tmp_path, kafka=secured.kafka("tokens", "${PLANTED}"))
    sections["engine"]["spark"] = {"spark.hadoop.my.secret.key": "${PLANTED}"}
    with secured.tokens.closed(), Process(sections, tmp_path) as running:
        wait_for_line(running, "NOT_AUTHENTICATED", "Could not get a token for Kafka", "Could not connect")
        places = [*shown(running), *on_command_lines(running.group)]
        secured.tokens.open()
        live(running)
        renewed_without_a_gap(secured, running, topics[0])
        places += [*shown(running), *on_command_lines(running.group)]
        before = count(running.logs, "Could not get a token for Kafka")
        secured.tokens.close()
        wait_for_line(running, "NOT_AUTHENTICATED", "Could not get a token for Kafka", before=before)
        wait_until(
            lambda: "Could not get a token for Kafka" in running.status.get("message", ""), "the message in the status"
        )
        secured.records.send(topics[0], [{"userId": "u1", "name": "later", "age": 1}])
        secured.tokens.open()
        wait_until(lambda: running.rows("users_ui", filter="name = 'later'"), "the row sent meanwhile")
        assert running.end() == 0
        terminal = ("terminal", "\n".join(running.lines).encode())
    checked = subprocess.run([sys.executable, *SERVE, "check", str(tmp_path / "evertable.yaml")], capture_output=True)
    places += [terminal, ("check", checked.stdout + checked.stderr), *on_disk(tmp_path)]
    places += in_topics(secured.broker.bootstrap, app)
    assert checked.returncode == 0
    found, searched = leaks(places, spellings(USER, PASSWORD))
    assert found == []
    assert searched > 50


def renewed_without_a_gap(secured: Secured, running: Process, topic: str) -> None:
    """Checks that rows sent during three renewals arrive once each, from the same query."""
    before, sent = dict(secured.tokens.issued), 0

    def arrived() -> bool:
        return bool(running.rows("users_ui", filter=f"name = 'x {sent}'"))

    while not all(secured.tokens.issued[agent] - count >= 3 for agent, count in before.items()):
        sent += 1
        secured.records.send(topic, [{"userId": "x", "name": f"x {sent}", "age": sent}])
        wait_until(arrived, f"row {sent}")
    ages = [row["age"] for row in running.rows("users_ui", filter="userId = 'x'")]
    assert sorted(ages) == list(range(1, sent + 1))
    assert not any("is started again" in line for line in running.logs)
    assert len(before) == 2  # Java's and librdkafka's
