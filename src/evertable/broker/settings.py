"""The broker's server.properties: one KRaft node on the loopback interface, small and quick to start."""

from __future__ import annotations

import string
import struct
from collections.abc import Mapping
from pathlib import Path

HOST = "127.0.0.1"
NODE_ID = 1

_PLAIN = frozenset(string.ascii_letters + string.digits + ".,-_/@")

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


def server_properties(port: int, controller_port: int, log_dir: Path, extra: Mapping[str, str]) -> str:
    """Returns the file's text; ``extra`` wins over everything."""
    listener, controller = f"{HOST}:{port}", f"{HOST}:{controller_port}"
    settings = {
        **_ONE_NODE,
        "controller.quorum.voters": f"{NODE_ID}@{controller}",
        "listeners": f"PLAINTEXT://{listener},CONTROLLER://{controller}",
        "advertised.listeners": f"PLAINTEXT://{listener}",
        "log.dirs": str(log_dir),
        **extra,
    }
    return "".join(f"{_escape(name)}={_escape(value)}\n" for name, value in settings.items())


def _escape(text: str) -> str:
    r"""Escapes a text for java.util.Properties: every character that could be special becomes ``\uXXXX``."""
    units = (unit for (unit,) in struct.iter_unpack(">H", text.encode("utf-16-be")))
    return "".join(chr(unit) if chr(unit) in _PLAIN else f"\\u{unit:04x}" for unit in units)
