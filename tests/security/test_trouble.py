"""Each trouble with a secured Kafka is told by its cause, and is over without a restart once it is mended."""

from __future__ import annotations

import subprocess
import sys
import time
import uuid
from collections.abc import Iterable
from pathlib import Path

import pytest
from confluent_kafka.admin import NewTopic
from tests.security.authority import Authority
from tests.security.conftest import PASSWORD, USER, Secured, rights
from tests.security.secrets import in_topics, leaks, on_command_lines, on_disk, shown, spellings
from tests.security.test_end_to_end import joined, live
from tests.serving.process import SERVE, Process
from tests.serving.rig import settings
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


def heard(lines: Iterable[str], *words: str) -> int:
    """How many lines have all of these words."""
    return sum(all(word in line for word in words) for line in lines)


def said(app: Process, *words: str, before: int = 0) -> None:
    """Waits for a line with all of these words, in ``orchestrator_logs`` and on the terminal; one more than before."""
    begun = time.monotonic()

    def told() -> bool:
        return heard(app.logs, *words) > before and heard(app.lines, *words) > before

    wait_until(told, lambda: f"{words} in\n" + "\n".join(app.logs))
    print(f"told after {time.monotonic() - begun:4.1f} s: {' … '.join(words)}")  # noqa: T201 - for docs/SECURITY.md


def test_one_after_the_other_is_told_and_mended(
    secured: Secured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From another host's certificate to the last right that is missing; in the end there are rows."""
    app, topics = f"t{uuid.uuid4().hex[:12]}", secured.topics("scram")
    needed = rights(app, topics)
    broker, stranger = secured.authority, Authority(tmp_path, "stranger")
    secured.password("another")
    secured.identity("scram", broker.identity("broker", at="DNS:elsewhere.example"))
    monkeypatch.setenv("PLANTED", PASSWORD)
    sections = settings("", app, topics, tmp_path, kafka=secured.kafka("scram", "${PLANTED}"))
    with Process(sections, tmp_path) as running:
        said(running, "BROKER_NOT_TRUSTED", "is for another host than 127.0.0.1")
        secured.identity("scram", broker.identity("broker", expired=True))
        said(running, "BROKER_NOT_TRUSTED", "has expired")
        secured.identity("scram", stranger.identity("broker"))
        said(running, "BROKER_NOT_TRUSTED", "is from an unknown authority")
        secured.identity("scram", broker.identity("broker"))
        said(running, "NOT_AUTHENTICATED", "rejected the login", "invalid credentials")
        secured.password(PASSWORD)
        said(running, "NOT_AUTHORIZED", f"the right Describe on topic 'evertable.{app}.state'")
        secured.allow(needed["state"])
        said(running, "NOT_AUTHORIZED", f"the right Write on transactional id 'evertable.{app}'")
        secured.allow(needed["lock"])
        said(running, "NOT_AUTHORIZED", f"the right Describe on topic 'evertable.{app}.control'")
        secured.allow(needed["control"])
        said(running, "NOT_AUTHORIZED", f"the right Describe on topic '{topics[0]}'")
        said(running, "NOT_AUTHORIZED", f"the right Delete on topic 'evertable.{app}.g00000")
        secured.allow(needed["users"], needed["accounts"], needed["changelogs"])
        live(running)
        assert joined(running) == {"scram"}
        places = [*shown(running), *on_disk(tmp_path), *in_topics(secured.broker.bootstrap, app)]
        assert leaks(places, spellings(USER, PASSWORD))[0] == []


def test_a_certificate_that_has_expired_and_rights_that_are_taken_away_in_mid_run(
    secured: Secured, tmp_path: Path
) -> None:
    """A new certificate takes the old one's place. Without a right, tables stay, and go on once it is there again."""
    app, topics = f"t{uuid.uuid4().hex[:12]}", secured.topics("certificate")
    needed = rights(app, topics)
    secured.allow(*needed.values())
    mine = secured.authority.identity(USER, expired=True)
    kafka = secured.kafka("certificate") | {"ssl.certificate.location": str(mine.certificate)}
    kafka["ssl.key.location"] = str(mine.key)
    with Process(settings("", app, topics, tmp_path, kafka=kafka), tmp_path) as running:
        said(running, "NOT_AUTHENTICATED", "rejected the certificate of this client", "expired")
        mine.key.write_bytes(secured.client.key.read_bytes())
        mine.certificate.write_bytes(secured.client.certificate.read_bytes())
        generation = live(running)["generation"]
        assert joined(running) == {"certificate"}
        secured.forbid(needed["users"])
        said(running, "The query of generation", "is started again", "Give its user", f"Read on '{topics[0]}'")
        secured.allow(needed["users"])
        secured.forbid(needed["control"])
        said(running, "Control messages cannot be read", "NOT_AUTHORIZED", f"on topic 'evertable.{app}.control'")
        secured.allow(needed["control"])
        said(running, "are read again")
        secured.forbid(needed["changelogs"])
        said(running, "cannot be read", "NOT_AUTHORIZED", f"on topic 'evertable.{app}.g00000")
        secured.records.send(topics[0], [{"userId": "u1", "name": "later", "age": 1}])
        said(running, "The query of generation", "NOT_AUTHORIZED", "Give its user", f"Write on 'evertable.{app}.g00000")
        secured.allow(needed["changelogs"])
        said(running, "is read again")
        wait_until(lambda: running.rows("users_ui", filter="name = 'later'"), "the row that came meanwhile")
        assert generation == running.status["generation"]


def test_a_right_that_is_missing_is_told_also_by_a_broker_that_is_slow(
    secured: Secured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer that comes too late is not taken for an outage for good: librdkafka would be silent from then on."""
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


def test_another_cause_is_told_too_while_kafka_is_away(secured: Secured, tmp_path: Path) -> None:
    """The first may pass, and the next may be the one to mend."""
    topics, broker = secured.topics("watched"), secured.authority
    secured.allow(*rights("watched", topics).values())
    wired = Config.model_validate(settings("", "watched", topics, tmp_path, kafka=secured.kafka("scram", "wrong")))
    reports: list[WatchEvent] = []
    watch = TopicWatch(reports.append)
    everything = {(Side.LEFT, 0): 10, (Side.RIGHT, 0): 20}  # is read: nothing stands still
    watch.add(7, wired, identity_of(wired, (None, None), ({0: 0}, {0: 0})), lambda: everything)

    def seen(times: int) -> list[str]:
        reports.clear()
        for _ in range(times):
            watch.poll()
        return [str(report) for report in reports]

    (refused,) = seen(4)
    assert "rejected the login" in refused
    secured.identity("scram", broker.identity("broker", at="DNS:elsewhere.example"))
    (distrusted,) = seen(2)
    assert "is for another host" in distrusted
    secured.identity("scram", broker.identity("broker"))
    secured.password("wrong")
    assert seen(2) == [f"Kafka at {secured.broker.secured('scram')} answers again."]
    secured.password(PASSWORD)


def test_tokens_that_are_renewed_that_are_missing_and_that_nobody_finds(
    secured: Secured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As people run it: away at the start, three renewals without a gap, away in mid-run; the secret is nowhere."""
    app, topics = f"t{uuid.uuid4().hex[:12]}", secured.topics("tokens")
    secured.allow(*rights(app, topics).values())
    monkeypatch.setenv("PLANTED", PASSWORD)
    sections = settings("", app, topics, tmp_path, kafka=secured.kafka("tokens", "${PLANTED}"))
    sections["engine"]["spark"] = {"spark.hadoop.my.secret.key": "${PLANTED}"}
    with secured.tokens.away(), Process(sections, tmp_path) as running:
        said(running, "NOT_AUTHENTICATED", "Could not get a token for Kafka", "Could not connect")
        places = [*shown(running), *on_command_lines(running.group)]
        secured.tokens.open()
        live(running)
        renewed_without_a_gap(secured, running, topics[0])
        places += [*shown(running), *on_command_lines(running.group)]
        before = heard(running.logs, "Could not get a token for Kafka")
        secured.tokens.close()
        said(running, "NOT_AUTHENTICATED", "Could not get a token for Kafka", before=before)
        wait_until(lambda: "Could not get a token for Kafka" in running.status.get("message", ""), "what is wrong now")
        secured.records.send(topics[0], [{"userId": "u1", "name": "later", "age": 1}])
        secured.tokens.open()
        wait_until(lambda: running.rows("users_ui", filter="name = 'later'"), "the row that came meanwhile")
        assert running.end() == 0
        terminal = ("terminal", "\n".join(running.lines).encode())
    checked = subprocess.run([sys.executable, *SERVE, "check", str(tmp_path / "evertable.yaml")], capture_output=True)
    places += [terminal, ("check", checked.stdout + checked.stderr), *on_disk(tmp_path)]
    places += in_topics(secured.broker.bootstrap, app)
    assert checked.returncode == 0
    found, looked = leaks(places, spellings(USER, PASSWORD))
    assert found == []
    assert looked > 50


def renewed_without_a_gap(secured: Secured, running: Process, topic: str) -> None:
    """Rows that are sent all the while come all, once each, and the query is the same."""
    before, sent, longest = dict(secured.tokens.issued), 0, 0.0

    def arrived() -> bool:
        return bool(running.rows("users_ui", filter=f"name = 'x {sent}'"))

    while not all(secured.tokens.issued[agent] - count >= 3 for agent, count in before.items()):
        sent += 1
        secured.records.send(topic, [{"userId": "x", "name": f"x {sent}", "age": sent}])
        begun = time.monotonic()
        wait_until(arrived, f"row {sent}")
        longest = max(longest, time.monotonic() - begun)
    print(f"{sent} rows, the slowest after {longest:.1f} s")  # noqa: T201
    ages = [row["age"] for row in running.rows("users_ui", filter="userId = 'x'")]
    assert sorted(ages) == list(range(1, sent + 1))
    assert not any("is started again" in line for line in running.logs)
    assert len(before) == 2  # Java's and librdkafka's
