"""Looking for planted secrets in all that a run shows and leaves behind."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient
from tests.serving.rig import Http

TABLES = ("orchestrator_status", "orchestrator_logs", "control_raw", "generations", "dead_letters")
ADDRESSES = ("/api/status", "/api/tables", "/api/topics", "/metrics", "/healthz", "/readyz", "/openapi.json")


def spellings(user: str, secret: str) -> list[bytes]:
    """A secret as it is, and as it is sent with a request for a token."""
    return [secret.encode(), base64.b64encode(f"{user}:{secret}".encode())]


def shown(app: Http) -> Iterator[tuple[str, bytes]]:
    """All that a running app answers."""
    for address in (*ADDRESSES, *(f"/api/tables/{table}/rows?limit=10000" for table in TABLES)):
        yield address, app.http.get(address).content


def on_disk(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Logs and checkpoints."""
    for path in folder.rglob("*"):
        if path.is_file():
            yield str(path.relative_to(folder)), path.read_bytes()


def on_command_lines(group: int) -> Iterator[tuple[str, bytes]]:
    """Of all processes that ``group`` has brought into being."""
    parents = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
        except (FileNotFoundError, ProcessLookupError):
            continue
    found = {group}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    for pid in found:
        try:
            yield f"process {pid}", Path(f"/proc/{pid}/cmdline").read_bytes()
        except (FileNotFoundError, ProcessLookupError):
            continue


def in_topics(bootstrap: str, beginning: str) -> Iterator[tuple[str, bytes]]:
    """The records of topics whose names begin so."""
    names = [name for name in AdminClient({"bootstrap.servers": bootstrap}).list_topics().topics if beginning in name]
    settings = {"bootstrap.servers": bootstrap, "group.id": "unused", "enable.partition.eof": True}
    consumer = Consumer({**settings, "auto.offset.reset": "earliest"})
    try:
        for name in names:
            consumer.assign([TopicPartition(name, 0, 0)])
            while (message := consumer.poll(30)) is not None and message.error() is None:
                yield name, (message.key() or b"") + b" " + (message.value() or b"")
    finally:
        consumer.close()


def leaks(places: Iterable[tuple[str, bytes]], secrets: Iterable[bytes]) -> tuple[list[str], int]:
    """Where one of the secrets stands, and how many places were looked at."""
    wanted = list(secrets)
    looked = list(places)
    return [name for name, content in looked if any(secret in content for secret in wanted)], len(looked)
