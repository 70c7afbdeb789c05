"""How fast changes fold into tables, what they take, and what a page costs: ``python -m benchmarks.tables``."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from benchmarks.machine import description

from evertable.changelog.changes import NO_PAIRS, NO_REJECTS, PAIRS, Changes
from evertable.changelog.schema import ChangelogSchema
from evertable.config.columns import Column, ColumnType
from evertable.config.joins import JoinType
from evertable.tables.generation import GenerationTables, Input

USERS, ACCOUNTS, BATCH = 100_000, 1_000_000, 10_000
ROUNDS = 5


def columns(**types: str) -> tuple[Column, ...]:
    return tuple(Column(name, ColumnType.parse(spelled)) for name, spelled in types.items())


LEFT = Input("users", "users_v1", "userId", columns(userId="string", name="string", email="string", age="long"))
RIGHT = Input("accounts", "accounts_v1", "userId", columns(userId="string", accountType="string", balance="double"))


def changes(join: JoinType, users: int = USERS, accounts: int = ACCOUNTS) -> Iterator[Changes]:
    """All users, then accounts that match one user each, in batches as a reader gives them."""
    layouts = ChangelogSchema(LEFT.columns, RIGHT.columns, join).layouts
    random = np.random.default_rng(1)
    for start in range(0, users, BATCH):
        ids = np.arange(start, start + BATCH)
        text = [f"user-{i:08}" for i in ids]
        names = [f"Name{i % 9973} Surname{i % 99991}" for i in ids]
        arrays = [ids, ids + 1_700_000_000_000, text, names, [f"{name}@example.com" for name in text], ids % 90]
        yield Changes((_batch(arrays, layouts[0].arrow), layouts[1].empty), NO_PAIRS, NO_REJECTS, BATCH)
    for start in range(0, accounts, BATCH):
        ids = np.arange(start, start + BATCH)
        owners = random.integers(0, users, BATCH)
        times = ids + 1_700_000_100_000
        kinds = np.array(["chq", "sav", "loan", "card"])[ids % 4]
        arrays = [ids, times, [f"user-{i:08}" for i in owners], kinds, random.random(BATCH) * 10_000]
        order = times if join is JoinType.NATURAL else owners + 1_700_000_000_000
        pairs = _batch([owners, ids, order], PAIRS)
        yield Changes((layouts[0].empty, _batch(arrays, layouts[1].arrow)), pairs, NO_REJECTS, BATCH)


def _batch(arrays: list[object], schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [pa.array(array, field.type) for array, field in zip(arrays, schema, strict=True)], schema=schema
    )


def memory_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 2**20


def folded(join: JoinType) -> tuple[GenerationTables, float, float]:
    """The tables, the seconds that folding took (making the changes not counted), and the memory."""
    gc.collect()
    before = memory_mb()
    tables, spent = GenerationTables(LEFT, RIGHT, join), 0.0
    for batch in changes(join):
        start = time.process_time()
        tables.fold(batch)
        spent += time.process_time() - start
    gc.collect()
    return tables, spent, memory_mb() - before


def page_ms(tables: GenerationTables, limit: int, scattered: bool) -> float:
    """The median of reading a page from the middle."""
    total = tables.joined.extent.total
    random, spent = np.random.default_rng(2), []
    for _ in range(200):
        slots = random.integers(0, total, limit) if scattered else np.arange(total // 2, total // 2 + limit)
        start = time.perf_counter()
        tables.joined.take(slots, range(len(tables.joined.columns)))
        spent.append(time.perf_counter() - start)
    return float(np.median(spent)) * 1e3


def main() -> None:
    print(description())
    print(f"{USERS:,} users, {ACCOUNTS:,} accounts, {ACCOUNTS:,} pairs; a change is a row or a pair\n")
    print("| join | changes/s on one core | memory MB | counted MB | page of 100, ms | 100 scattered rows, ms |")
    print("|---|---|---|---|---|---|")
    for join in JoinType:
        tables, spent, memory = folded(join)
        rate = (USERS + 2 * ACCOUNTS) / spent
        pages = f"{page_ms(tables, 100, False):.2f} | {page_ms(tables, 100, True):.2f}"
        print(f"| {join} | {rate:,.0f} | {memory:.0f} | {tables.nbytes / 2**20:.0f} | {pages} |")
        del tables


if __name__ == "__main__":
    main()
