"""The speed of folding, the memory of tables, and the cost of a page: ``python -m benchmarks.tables``.

Each join runs in its own process, so that its memory is the growth of that process, with and without the free memory
that malloc and Arrow's pool keep. Rates are per processor time on all threads, without that of making the changes. A
page is the cost of the first viewer of a view: rows are taken from the table, encoded as JSON, and framed.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import resource
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from benchmarks.machine import description
from benchmarks.samples import ACCOUNTS, LEFT, RIGHT, USERS, changes

from evertable.protocol.answers import Stamp
from evertable.protocol.page import PageRows, page_tail
from evertable.protocol.values import rows_of
from evertable.schema.joins import JoinType
from evertable.tables.generation import GenerationTables
from evertable.tables.joined_table import JoinedTable
from evertable.tables.table import Slots

PAGE, PAGES = 100, 500


@dataclass(frozen=True)
class Figures:
    """The figures of one join."""

    rows: int
    changes_per_s: float
    resident_mb: float
    trimmed_mb: float
    peak_mb: float
    counted_mb: float
    page_ms: tuple[float, float]
    """Median and 95 %, of consecutive rows in the middle."""
    scattered_ms: tuple[float, float]


def measured(join: JoinType) -> Figures:
    """Folds and reads one join's tables, in a fresh process."""
    gc.collect()
    before = resident_mb()
    tables, spent = GenerationTables(LEFT, RIGHT, join), 0.0
    for batch in changes(join):
        start = time.process_time()
        tables.fold(batch)
        spent += time.process_time() - start
    del batch
    gc.collect()
    resident, peak = resident_mb(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    give_back()
    trimmed, joined = resident_mb(), tables.joined
    middle, random = joined.extent.total // 2, np.random.default_rng(2)
    return Figures(
        rows=joined.extent.total,
        changes_per_s=(USERS + 2 * ACCOUNTS) / spent,
        resident_mb=resident - before,
        trimmed_mb=trimmed - before,
        peak_mb=peak - before,
        counted_mb=tables.nbytes / 2**20,
        page_ms=page_ms(joined, [np.arange(middle, middle + PAGE)] * PAGES),
        scattered_ms=page_ms(joined, [random.integers(0, joined.extent.total, PAGE) for _ in range(PAGES)]),
    )


def resident_mb() -> float:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


def give_back() -> None:
    """Makes both allocators return free memory."""
    pa.default_memory_pool().release_unused()
    with suppress(OSError, AttributeError):  # another libc
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def page_ms(table: JoinedTable, pages: list[Slots]) -> tuple[float, float]:
    spent = []
    for slots in pages:
        start = time.perf_counter()
        page(table, slots)
        spent.append(time.perf_counter() - start)
    median, slow = np.percentile(spent, [50, 95]) * 1e3
    return float(median), float(slow)


def page(table: JoinedTable, slots: Slots) -> bytes:
    """Makes a page as the server does for the first viewer of a view."""
    with table.lock:
        extent = table.extent
        batch = table.take(slots, range(len(table.columns)))
    rows = PageRows.of(slots.tolist(), rows_of(batch, table.columns))
    return page_tail("final_ui", Stamp(1, extent.version, 1), extent.total, int(slots[0]), table.columns, rows.json)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--join", type=JoinType, choices=list(JoinType), help="only this one")
    parser.add_argument("--figures", action="store_true", help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    if wanted.figures:
        print(json.dumps(asdict(measured(wanted.join))))
        return
    print(description())
    print(f"\n{USERS:,} users, {ACCOUNTS:,} accounts, {ACCOUNTS:,} pairs; a change is a row or a pair\n")
    print(
        "| join | rows | changes/s on one core | MB | MB, trimmed | MB, peak | MB, counted | page ms | scattered ms |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    print("| *budget* | | *≥ 300,000* | *≤ 600* | | | | *≤ 2* | *≤ 2* |")
    for join in [wanted.join] if wanted.join else JoinType:
        command = [sys.executable, "-m", "benchmarks.tables", "--figures", "--join", join]
        made = json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
        memory = " | ".join(f"{made[name]:.0f}" for name in ("resident_mb", "trimmed_mb", "peak_mb", "counted_mb"))
        pages = " | ".join("{:.2f} / {:.2f}".format(*made[name]) for name in ("page_ms", "scattered_ms"))
        print(f"| {join} | {made['rows']:,} | {made['changes_per_s']:,.0f} | {memory} | {pages} |", flush=True)
    print(f"\nPages of {PAGE} rows with all columns, JSON included: median / 95 %.")


if __name__ == "__main__":
    main()
