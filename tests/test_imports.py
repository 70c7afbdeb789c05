"""The pure core stays pure: who may import what."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import evertable

SOURCE = Path(evertable.__file__).parent
CLIENTS = {"pyspark", "confluent_kafka", "starlette", "uvicorn", "websockets", "httpx", "prometheus_client"}

SHELLS = {
    # Only these touch a client library; everything else is a core that knows none.
    "engine/plan.py": {"pyspark"},
    "engine/session.py": {"pyspark"},
    "engine/spark_internals.py": {"pyspark"},
    "engine/child.py": {"pyspark"},
    "changelog/reader.py": {"confluent_kafka"},
    "changelog/backlog.py": {"confluent_kafka"},
    "changelog/topics.py": {"confluent_kafka"},
    "control/topic.py": {"confluent_kafka"},
    "control/listener.py": {"confluent_kafka"},
    "control/writer.py": {"confluent_kafka"},
    "state/state_log.py": {"confluent_kafka"},
    "state/state_topic.py": {"confluent_kafka"},
    "generations/watch.py": {"confluent_kafka"},
    "broker/embedded.py": {"confluent_kafka"},
    "demo/sample_writer.py": {"confluent_kafka"},
    "demo/sending.py": {"confluent_kafka"},
    # All of a folder, but for PURE:
    "kafka": {"confluent_kafka"},
    "client": {"httpx", "websockets"},
    "server": {"starlette", "uvicorn", "websockets", "prometheus_client"},
}
PURE = {
    "server/security.py",
    *(f"kafka/{name}.py" for name in ("dialects", "jaas", "oauth", "properties", "property_names")),
}


def allowed(path: Path) -> set[str]:
    name, folder = str(path.relative_to(SOURCE)), path.relative_to(SOURCE).parts[0]
    return SHELLS.get(name, set() if name in PURE else SHELLS.get(folder, set()))


def imported(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names.add(node.module.split(".")[0])
    return names


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda path: str(path.relative_to(SOURCE)))
def test_only_the_shells_import_a_client_library(path: Path) -> None:
    assert imported(path) & CLIENTS <= allowed(path)


def test_every_listed_shell_exists() -> None:
    assert {name for name in {*SHELLS, *PURE} if not (SOURCE / name).exists()} == set()
