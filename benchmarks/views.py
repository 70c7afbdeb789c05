"""The speed of sorts and filters over a large table, on one thread.

    .venv/bin/python -m benchmarks.views                    # a million rows, about two minutes
    .venv/bin/python -m benchmarks.views --rows 100000

A Python thread spins beside each one, in place of the server's event loop. "pause" is its longest wait in the best
round; in other rounds another program may have used the core.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa
from benchmarks import machine

from evertable.schema.columns import Column
from evertable.tables.table import Extent, Slots, schema_of
from evertable.views.query import Query
from evertable.views.view import View

TYPES = {
    "long": "long",
    "double": "double",
    "decimal": "decimal(12,2)",
    "few": "int",
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp",
    "name": "string",  # 8–24 characters, mostly distinct
    "userId": "string",  # a common beginning, distinct
    "email": "string",  # distinct from the first bytes on
    "type": "string",  # three of them
    "gaps": "double",  # half of them null
}
SORTS: list[tuple[str, ...]] = [(name,) for name in TYPES]
SORTS += [("-double",), ("-name",), ("type", "-double"), ("few", "name"), ("name", "double"), ("type", "few", "-long")]
FILTERS = [
    "long > 0",
    "double between -1 and 1",
    "decimal > 5000.005",
    "few in (1, 2, 3)",
    "long > double",
    "decimal > few",
    "decimal > double",
    "timestamp >= '2020-01-01T00:00Z'",
    "type = 'cheque account premium'",
    "name contains 'SMITH 1'",
    "name starts with 'bob'",
    "email ends with 'X@example.com'",
    "double > 1 and type != 'credit' and not name contains 'eve'",
]


class Snapshot:
    """Columns as those of a live table."""

    def __init__(self, columns: Mapping[str, pa.Array]) -> None:
        self.columns = tuple(Column.parse(name, TYPES[name]) for name in columns)
        self.extent = Extent(1, 0, len(next(iter(columns.values()))))
        self._arrays = [pa.chunked_array([array]) for array in columns.values()]

    def column(self, index: int) -> pa.ChunkedArray:
        return self._arrays[index]

    def text_bytes(self, slots: Slots, columns: Sequence[int]) -> Slots:
        found = np.zeros(len(slots), np.int64)
        for array in (self._arrays[i].chunk(0) for i in columns if pa.types.is_string(self._arrays[i].type)):
            offsets = np.frombuffer(array.buffers()[1], np.int32)
            found += offsets[slots + 1] - offsets[slots]
        return found

    def take(self, slots: Slots, columns: Sequence[int]) -> pa.RecordBatch:
        return pa.table([self._arrays[i] for i in columns], [str(i) for i in columns]).take(slots).to_batches()[0]


def generated(rows: int) -> Snapshot:
    random = np.random.default_rng(1)
    numbers, doubles = random.integers(-(2**63), 2**63 - 1, rows), random.normal(size=rows)
    cents = random.integers(0, 10**6, rows)
    first = random.choice(["anna", "bob", "carl", "dora smith", "eve van der berg"], rows)
    ids = random.permutation(rows)
    types = random.choice(["cheque account premium", "savings account premium", "credit"], rows)
    arrays = [
        pa.array(numbers),
        pa.array(doubles),
        pa.array(cents / 100),
        pa.array(random.integers(0, 100, rows)),
        pa.array(random.random(rows) < 0.5),
        pa.array(random.integers(0, 20_000, rows).astype(np.int32)),
        pa.array(random.integers(0, 2 * 10**15, rows)),
        pa.array([f"{name} {number}" for name, number in zip(first, random.integers(0, 10**8, rows), strict=True)]),
        pa.array([f"customer-{i:07d}" for i in ids]),
        pa.array([f"{i:06x}.{'xy'[i % 2]}@example.com" for i in ids]),
        pa.array(types),
        pa.array(doubles, mask=random.random(rows) < 0.5),
    ]
    schema = schema_of([Column.parse(name, spelled) for name, spelled in TYPES.items()])
    return Snapshot(
        {name: array.cast(schema.field(name).type, safe=False) for name, array in zip(TYPES, arrays, strict=True)}
    )


class Spinner:
    """A busy Python thread that records the longest time it could not run."""

    def __enter__(self) -> Spinner:
        self.longest_s = 0.0
        self._stop = False
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop = True
        self._thread.join()

    def _spin(self) -> None:
        last = time.perf_counter()
        while not self._stop:
            now = time.perf_counter()
            self.longest_s = max(self.longest_s, now - last)
            last = now


def measure(work: Callable[[], Slots], rounds: int) -> tuple[float, float, int]:
    """Returns the minimum time alone, the minimum of a second thread's longest pauses, and the number of rows."""
    times, pauses = [], []
    for _ in range(rounds):
        begin = time.perf_counter()
        found = work()
        times.append(time.perf_counter() - begin)
        with Spinner() as spinner:
            work()
        pauses.append(spinner.longest_s)
    return min(times) * 1e3, min(pauses) * 1e3, len(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    wanted = parser.parse_args()
    print(machine.description())
    snapshot = generated(wanted.rows)
    print(f"\nOrders of {wanted.rows:,} rows; the best of {wanted.rounds} rounds")
    print("view                                                              ms   pause ms       rows")
    views = [("(nothing, for comparison)", None), *((" ".join(sort), View(sort=sort)) for sort in SORTS)]
    views += [("-name, newest first", View(sort=("-name",), newest_first=True))]
    views += [(text, View(filter=text)) for text in FILTERS]
    views += [(f"name | {text}", View(sort=("name",), filter=text)) for text in ("double > 1", "double > 3")]
    for label, view in views:
        ms, pause, found = measure(work(snapshot, view), wanted.rounds)
        print(f"{label:60} {ms:7.1f} {pause:10.1f} {found:10,}", flush=True)


def work(snapshot: Snapshot, view: View | None) -> Callable[[], Slots]:
    if view is None:
        return rest
    bound = Query.parse(view).bind(snapshot.columns)
    return lambda: bound.order(snapshot)


def rest() -> Slots:
    time.sleep(0.1)
    return np.arange(0)


if __name__ == "__main__":
    main()
