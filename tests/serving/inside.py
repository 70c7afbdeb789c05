"""An app from the inside: its tables at one version, and the resources that it holds."""

from __future__ import annotations

import ctypes
import gc
import threading
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from confluent_kafka.admin import AdminClient
from tests.reference.joins import Row, join
from tests.serving.rig import App

from evertable.generations.context import GenerationContext
from evertable.schema.joins import JoinType
from evertable.tables.generation import GenerationTables
from evertable.tables.table import Snapshot

PLACE = {
    side: {f"{side}_{field[0]}": {"from": f"kafka.{field}"} for field in ("partition", "offset", "timestamp")}
    for side in "ua"
}
"""Columns with a row's id and order, by side: with them a table is all that the reference needs."""

POOLS = ("evertable-generation", "evertable-worker", "asyncio", "AnyIO worker", "ThreadPoolExecutor")
"""Thread pools, which grow to a fixed size with their first work."""


def context(app: App) -> GenerationContext:
    overview = app._serving.overview.snapshot
    running = overview and (overview.live or overview.coming)
    assert running
    return running.context


@dataclass(frozen=True)
class AtOnce:
    """The tables of the live generation at one version: users, accounts and joined, as rows by column name."""

    generation: int
    users: list[dict[str, Any]]
    accounts: list[dict[str, Any]]
    joined: list[tuple[Any, ...]]
    columns: tuple[str, ...]

    def reference(self, type_: JoinType) -> Counter[tuple[Any, ...]]:
        """Computes the joined table from the others."""
        return reference(type_, self.columns, self.users, self.accounts)


def at_once(app: App) -> AtOnce:
    """Returns all tables at one version; they flip together and change under one lock."""
    publication = app._serving.catalog.current
    tables = [publication.tables[name] for name in ("users_ui", "accounts_ui", "final_ui")]
    with tables[0].lock:
        assert all(table.lock is tables[0].lock for table in tables)
        users, accounts, joined = (table.snapshot() for table in tables)
    columns = tuple(column.name for column in joined.columns)
    return AtOnce(publication.generation, _dicts(users), _dicts(accounts), _tuples(joined), columns)


def reference(
    type_: JoinType, columns: Sequence[str], users: list[dict[str, Any]], accounts: list[dict[str, Any]]
) -> Counter[tuple[Any, ...]]:
    """Computes the joined table of these rows with the reference, key by key."""
    sides = (_by_key(users, "u"), _by_key(accounts, "a"))
    values = [{row.id: row.values[0] for rows in side.values() for row in rows} for side in sides]
    nothing = dict.fromkeys(columns)
    found: Counter[tuple[Any, ...]] = Counter()
    for key in sides[0].keys() | sides[1].keys():
        for left, right in join(type_, sides[0].get(key, []), sides[1].get(key, [])):
            user = {} if left is None else values[0][left]
            account = {} if right is None else values[1][right]
            row = {**nothing, **account, **user}
            if type_ is JoinType.ASOF:
                row |= {"userId": account["userId"], "ts": account["a_t"]}
            elif left is not None:
                row["userId"] = user["userId"]
            found[tuple(row[column] for column in columns)] += 1
    return found


def _by_key(rows: list[dict[str, Any]], side: str) -> dict[Any, list[Row]]:
    found: dict[Any, list[Row]] = {}
    for row in rows:
        place = (row[f"{side}_p"], row[f"{side}_o"], row[f"{side}_t"])
        found.setdefault(row["userId"], []).append(Row(*place, row["userId"], (row,)))
    return found


def _tuples(snapshot: Snapshot) -> list[tuple[Any, ...]]:
    columns = [snapshot.column(index) for index in range(len(snapshot.columns))]
    plain = [
        each.cast(pa.timestamp("ms", each.type.tz)).cast(pa.int64()) if _is_time(each) else each for each in columns
    ]
    return list(zip(*(column.to_pylist() for column in plain), strict=True))


def _is_time(column: pa.ChunkedArray) -> bool:
    return bool(pa.types.is_timestamp(column.type))


def _dicts(snapshot: Snapshot) -> list[dict[str, Any]]:
    names = [column.name for column in snapshot.columns]
    return [dict(zip(names, row, strict=True)) for row in _tuples(snapshot)]


@dataclass(frozen=True)
class Held:
    """Resources of an app that a generation could leave behind."""

    queries: int
    threads: Counter[str]
    clients: int
    """Kafka clients, counted by their threads."""
    topics: int
    checkpoints: int
    tables: int


def held(app: App, bootstrap: str) -> Held:
    gc.collect()
    names = Counter(thread.name for thread in threading.enumerate() if not thread.name.startswith(POOLS))
    topics = AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=30).topics
    return Held(
        len(context(app).engine.running),
        names,
        _native_threads()["rdk:main"],
        sum(app.config.app in topic for topic in topics),
        len(context(app).checkpoints.generations()),
        sum(isinstance(each, GenerationTables) for each in gc.get_objects()),
    )


def _native_threads() -> Counter[str]:
    found: Counter[str] = Counter()
    for comm in Path("/proc/self/task").glob("*/comm"):
        with suppress(OSError):  # it has just ended
            found[comm.read_text().strip()] += 1
    return found


@dataclass(frozen=True)
class Memory:
    """The memory in use, in bytes."""

    arrow: int
    tables: int
    resident: int


def memory(app: App) -> Memory:
    gc.collect()
    pa.default_memory_pool().release_unused()
    ctypes.CDLL("libc.so.6").malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return Memory(pa.total_allocated_bytes(), context(app).counts.tables_bytes, pages * 4096)
