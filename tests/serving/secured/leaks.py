"""Searches everything that a run shows and leaves behind for planted secrets."""

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
    """Returns the secret as it is, and as a token request carries it."""
    return [secret.encode(), base64.b64encode(f"{user}:{secret}".encode())]


def shown(app: Http) -> Iterator[tuple[str, bytes]]:
    """Yields every response of a running app."""
    for address in (*ADDRESSES, *(f"/api/tables/{table}/rows?limit=10000" for table in TABLES)):
        yield address, app.http.get(address).content


def on_disk(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yields logs and checkpoints."""
    for path in folder.rglob("*"):
        if path.is_file():
            yield str(path.relative_to(folder)), path.read_bytes()


def on_command_lines(group: int) -> Iterator[tuple[str, bytes]]:
    """Yields the command lines of a process and of all its descendants."""
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


def in_topics(bootstrap: str, app: str) -> Iterator[tuple[str, bytes]]:
    """Yields the records of topics whose names contain the app's."""
    names = [name for name in AdminClient({"bootstrap.servers": bootstrap}).list_topics().topics if app in name]
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
    """Returns the places that contain one of the secrets, and how many places were searched."""
    wanted = list(secrets)
    searched = list(places)
    return [name for name, content in searched if any(secret in content for secret in wanted)], len(searched)
