"""``evertable follow`` in a terminal: rows, matches and rejects of real topics, and clear words when it cannot."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from evertable.broker import EmbeddedBroker

EVERTABLE = Path(sys.executable).with_name("evertable")
CONFIG = """
app: {app}
kafka: {{bootstrap.servers: "{servers}"}}
sources:
  users: {{topic: {users}, key: userId, columns: {{userId: string, "[b]name": string}}}}
  accounts: {{topic: {accounts}, key: userId, columns: {{userId: string, balance: double}}}}
join: {{type: inner}}
engine: {{spark: {spark}}}
"""

WriteConfig = Callable[..., Path]


@pytest.fixture
def write_config(tmp_path: Path, broker: EmbeddedBroker) -> WriteConfig:
    def write(users: str, accounts: str, servers: str = broker.bootstrap, spark: str = "{}") -> Path:
        file = tmp_path / "evertable.yaml"
        file.write_text(CONFIG.format(app=users, servers=servers, users=users, accounts=accounts, spark=spark))
        return file

    return write


def follow(file: Path, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [EVERTABLE, "follow", file, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def send(broker: EmbeddedBroker, topic: str, *values: object) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "enable.idempotence": True})
    for value in values:
        producer.produce(topic, value if isinstance(value, bytes) else json.dumps(value))
    assert producer.flush(30) == 0


def changelogs(broker: EmbeddedBroker, app: str) -> set[str]:
    return {t for t in AdminClient({"bootstrap.servers": broker.bootstrap}).list_topics().topics if f".{app}." in t}


def test_rows_matches_and_rejects_are_printed_live_until_ctrl_c(
    broker: EmbeddedBroker, new_topic: Callable[..., str], write_config: WriteConfig
) -> None:
    """What was there with --all, then what comes; at the end nothing is left in Kafka or on disk."""
    users, accounts = new_topic(), new_topic()
    send(broker, users, {"userId": "u1", "[b]name": "[red]Ann\x1b[31m"}, b"not json")
    send(broker, accounts, {"userId": "u1", "balance": 1})
    with follow(write_config(users, accounts), "--all") as process:
        assert process.stdout is not None
        try:
            lines = iter(process.stdout.readline, "")
            assert next(lines) == f"Asking Kafka at {broker.bootstrap} …\n"
            opening = next(lines)
            said = re.fullmatch(
                rf"Generation 1: {users}, inner join with {accounts}\. .*: (\S+/spark\.log)\. .*\n", opening
            )
            assert said is not None, opening
            shown = {next(lines).strip() for _ in range(4)}
            reject = next(line for line in shown if line.startswith("reject"))
            assert reject.startswith("reject   users 0@1  INVALID_JSON: ")
            assert shown - {reject} == {
                "users         0@0  userId u1  [b]name [red]Ann\\u001b[31m",
                "accounts      0@0  userId u1  balance 1.0",
                "match    users 0@0 ↔ accounts 0@0",
            }
            assert next(lines) == "Caught up: 2 rows, 1 matches, 1 rejects.\n"
            send(broker, users, {"userId": "u1"})
            live = {next(lines).strip() for _ in range(2)}
            assert live == {"users         0@2  userId u1  [b]name None", "match    users 0@2 ↔ accounts 0@0"}
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0
        finally:
            process.kill()
        assert (list(lines), process.stderr.read() if process.stderr else "") == ([], "")
    assert changelogs(broker, users) == set()
    assert not Path(said.group(1)).parent.exists()


def test_once_ends_by_itself_and_two_at_a_time_do_not_meet(
    broker: EmbeddedBroker, new_topic: Callable[..., str], write_config: WriteConfig
) -> None:
    """Two runs of one app at once: each takes a generation of its own, shows all there is, and clears up."""
    users, accounts = new_topic(), new_topic()
    send(broker, users, {"userId": "u1"})
    send(broker, accounts, {"userId": "u1"}, {"userId": "u1"})
    file = write_config(users, accounts)
    both = [follow(file, "--all", "--once"), follow(file, "--all", "--once")]
    said = [process.communicate(timeout=100) for process in both]
    assert [(process.returncode, err) for process, (_, err) in zip(both, said, strict=True)] == [(0, "")] * 2
    lines = [out.splitlines() for out, _ in said]
    assert {each[1].split(":")[0] for each in lines} == {"Generation 1", "Generation 2"}
    assert sorted(lines[0][2:-1]) == sorted(lines[1][2:-1])
    assert {each[-1] for each in lines} == {"Caught up: 3 rows, 2 matches, 0 rejects."}
    assert changelogs(broker, users) == set()


def test_a_missing_topic_is_one_line_on_standard_error(
    broker: EmbeddedBroker, new_topic: Callable[..., str], write_config: WriteConfig
) -> None:
    users = new_topic()
    process = follow(write_config(users, "no-such-topic"))
    _, said = process.communicate(timeout=30)
    assert process.returncode == 1
    assert said == (
        f"[TOPIC_NOT_FOUND] Kafka at {broker.bootstrap} has no topic 'no-such-topic'. Create it, or correct its name.\n"
    )
    assert changelogs(broker, users) == set()


def test_a_wrong_configuration_is_exit_code_2(tmp_path: Path) -> None:
    process = follow(tmp_path / "none.yaml")
    _, said = process.communicate(timeout=30)
    assert process.returncode == 2
    assert said.startswith("[CONFIG_INVALID] No configuration was found.\n")


def test_ctrl_c_ends_it_at_once_while_kafka_does_not_answer(write_config: WriteConfig) -> None:
    with follow(write_config("u", "a", servers="127.0.0.1:1")) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "Asking Kafka at 127.0.0.1:1 …\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(5) == -signal.SIGINT


def test_when_spark_does_not_start_its_log_is_there_to_read(
    broker: EmbeddedBroker, new_topic: Callable[..., str], write_config: WriteConfig
) -> None:
    """The error names the log, the log is kept, and nothing else is."""
    users = new_topic()
    process = follow(write_config(users, new_topic(), spark="{spark.driver.memory: 1k}"))
    _, said = process.communicate(timeout=50)
    assert process.returncode == 1
    found = re.search(r"\[ENGINE_FAILED\] Spark did not start: .* (\S+/spark\.log)", said)
    assert found is not None, said
    log = Path(found.group(1))
    assert "heap" in log.read_text()
    assert list(log.parent.iterdir()) == [log]
    log.unlink()
    log.parent.rmdir()
    assert changelogs(broker, users) == set()


def test_ctrl_c_while_spark_starts_ends_it_and_leaves_nothing(
    broker: EmbeddedBroker, new_topic: Callable[..., str], write_config: WriteConfig
) -> None:
    users = new_topic()
    with follow(write_config(users, new_topic()), "--once") as process:
        looking = threading.Event()
        while not changelogs(broker, users):  # made just before Spark is started
            assert process.poll() is None
            looking.wait(0.05)
        process.send_signal(signal.SIGINT)
        out, said = process.communicate(timeout=20)
    assert (process.returncode, said, len(out.splitlines())) == (130, "", 1)
    assert changelogs(broker, users) == set()
