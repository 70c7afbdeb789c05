"""The broker's server.properties: one KRaft node on the loopback interface, small and quick to start."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from evertable.broker.security import Security

HOST = "127.0.0.1"
NODE_ID = 1

_ONE_NODE = {
    "process.roles": "broker,controller",
    "node.id": str(NODE_ID),
    "controller.listener.names": "CONTROLLER",
    "inter.broker.listener.name": "PLAINTEXT",
    # Internal topics: one copy, one partition.
    "offsets.topic.replication.factor": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.min.isr": "1",
    # A typo in a topic's name is an error, not a new topic.
    "auto.create.topics.enable": "false",
    # There are no other nodes to wait for.
    "group.initial.rebalance.delay.ms": "0",
    "controlled.shutdown.max.retries": "1",
    # After a crash the node is rejected until its old session has expired, so that is short (9 s by default).
    # If it were much shorter, a busy machine that stalls for seconds would fence its only node.
    "broker.session.timeout.ms": "5000",
    "broker.heartbeat.interval.ms": "500",
    # By default the log cleaner takes 128 MB of heap.
    "log.cleaner.dedupe.buffer.size": str(16 * 1024 * 1024),
    "num.network.threads": "2",
    "num.io.threads": "4",
}


def server_properties(
    port: int,
    controller_port: int,
    log_dir: Path,
    extra: Mapping[str, str],
    security: Security | None = None,
    secured: Mapping[str, int] | None = None,
) -> str:
    """Returns the file's text; ``extra`` wins over everything. ``secured`` has the ports of the secured listeners."""
    listener, controller = f"{HOST}:{port}", f"{HOST}:{controller_port}"
    settings = {
        **_ONE_NODE,
        "controller.quorum.voters": f"{NODE_ID}@{controller}",
        "listeners": f"PLAINTEXT://{listener},CONTROLLER://{controller}",
        "advertised.listeners": f"PLAINTEXT://{listener}",
        "log.dirs": str(log_dir),
    }
    if security is not None:
        own = {name: f"{HOST}:{own_port}" for name, own_port in (secured or {}).items()}
        settings |= security.properties({"PLAINTEXT": listener, "CONTROLLER": controller, **own})
    settings |= extra
    return "".join(f"{_escape(name)}={_escape(value)}\n" for name, value in settings.items())


def _escape(text: str) -> str:
    r"""Escapes a text for java.util.Properties: every character that could be special becomes ``\uXXXX``."""
    return "".join(char if char.isalnum() and char.isascii() else _units(char) for char in text)


def _units(char: str) -> str:
    if char in ".,-_/@":
        return char  # frequent and harmless
    encoded = char.encode("utf-16-be")
    return "".join(f"\\u{encoded[at : at + 2].hex()}" for at in range(0, len(encoded), 2))
