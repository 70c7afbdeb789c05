"""Generated users and accounts, as changes of a changelog."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from evertable.changelog.changes import MATCHES, NO_MATCHES, NO_REJECTS, Changes
from evertable.changelog.schema import ChangelogSchema
from evertable.config.models import Source
from evertable.schema.joins import JoinType
from evertable.tables.generation import GenerationTables

USERS, ACCOUNTS, BATCH = 100_000, 1_000_000, 10_000
BATCHES_A_SECOND = 100


def source(name: str, /, **types: str) -> Source:
    return Source.model_validate({"name": name, "topic": f"{name}_v1", "key": "userId", "columns": types})


LEFT = source("users", userId="string", name="string", email="string", age="long")
RIGHT = source("accounts", userId="string", accountType="string", balance="double")


def changes(join: JoinType, users: int = USERS, accounts: int = ACCOUNTS) -> Iterator[Changes]:
    """Yields all users, then accounts that match one user each, in batches as a reader returns them."""
    layouts = ChangelogSchema(LEFT.columns, RIGHT.columns, join).layouts
    random = np.random.default_rng(1)
    for start in range(0, users, BATCH):
        ids = np.arange(start, start + BATCH)
        text = [f"user-{i:08}" for i in ids]
        names = [f"Name{i % 9973} Surname{i % 99991}" for i in ids]
        arrays = [ids, ids + 1_700_000_000_000, text, names, [f"{name}@example.com" for name in text], ids % 90]
        yield Changes((_batch(arrays, layouts[0].arrow), layouts[1].empty), NO_MATCHES, NO_REJECTS, BATCH)
    for start in range(0, accounts, BATCH):
        ids = np.arange(start, start + BATCH)
        kinds = np.array(["chq", "sav", "loan", "card"])[ids % 4]
        yield _accounts(join, ids, random.integers(0, users, BATCH), kinds, random.random(BATCH) * 10_000)


def new_accounts(join: JoinType, touched: int, rate: int, first: int = 0) -> Iterator[Changes]:
    """Yields ``rate`` accounts a second forever, with the current time as balance; they match the first users."""
    random, size, start = np.random.default_rng(2), rate // BATCHES_A_SECOND, time.monotonic()
    for number in range(1 << 30):
        time.sleep(max(0.0, start + number / BATCHES_A_SECOND - time.monotonic()))
        ids = np.arange(first, first + size)
        first += size
        yield _accounts(join, ids, random.integers(0, touched, size), ["new"] * size, [time.time()] * size)


def folded(join: JoinType, accounts: int = ACCOUNTS, on_change: Callable[[], None] = lambda: None) -> GenerationTables:
    tables = GenerationTables(LEFT, RIGHT, join, on_change)
    for batch in changes(join, accounts=accounts):
        tables.fold(batch)
    return tables


def _accounts(
    join: JoinType,
    ids: np.ndarray,
    owners: np.ndarray,
    kinds: Sequence[str] | np.ndarray,
    balances: Sequence[float] | np.ndarray,
) -> Changes:
    left, right = ChangelogSchema(LEFT.columns, RIGHT.columns, join).layouts
    times = ids + 1_700_000_100_000
    rows = _batch([ids, times, [f"user-{i:08}" for i in owners], kinds, balances], right.arrow)
    order = times if join is JoinType.NATURAL else owners + 1_700_000_000_000
    return Changes((left.empty, rows), _batch([owners, ids, order], MATCHES), NO_REJECTS, len(ids))


def _batch(arrays: Sequence[object], schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [pa.array(array, field.type) for array, field in zip(arrays, schema, strict=True)], schema=schema
    )
