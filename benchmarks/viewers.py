"""The cost of many viewers, and the time until they see a flip: ``python -m benchmarks.viewers [--viewers 500]``.

One process is the server, another one holds the viewers' sockets. Both share this machine's cores, so the server may
look slower than it is.

- *Watching*: a natural join of 100,000 users, 1,000 changed rows a second. Printed are the server's processor time,
  what viewers received, the age of changes on arrival, and the time to the first page.
- *Flips*: two generations of a left join, 1.1 million rows each, take turns under 200 viewers of two tables each, while
  accounts flow into both.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks.figures import note
from benchmarks.flips import flips
from benchmarks.machine import cpu_seconds, description
from benchmarks.viewer_load import Seen, Viewer, Wanted, allow_many_files, connect
from benchmarks.viewer_server import ServerProcess

from evertable.schema.joins import JoinType

WARM_S, MEASURE_S = 2.0, 10.0
COMING_S = 0.1


@dataclass(frozen=True)
class Scene:
    """The views of viewers; changes happen to random ones of the first ``touched`` users."""

    name: str
    view: Callable[[int], dict[str, Any]]
    touched: int = 50_000
    table: str = "final_ui"
    leaving: float = 0.0
    """Share of the viewers that is replaced each second."""

    def wanted(self, number: int) -> list[Wanted]:
        return [(self.table, self.view(number))]


def own_page(number: int) -> dict[str, Any]:
    return {"limit": 100, "offset": 100 * (number % 1_000)}


SCENES = (
    Scene("all on one page, every row of it changing", lambda i: {"limit": 100}, touched=100),
    Scene("each on a different page", own_page),
    Scene("all on one page, changes elsewhere", lambda i: {"limit": 100, "offset": 90_000}),
    Scene("newest accounts first", lambda i: {"limit": 100, "newestFirst": True}, table="accounts_ui"),
    Scene("20 sorted and filtered views", lambda i: {"sort": ["-balance"], "filter": f"age > {i % 20}"}),
    Scene("each on a different page; a tenth replaced each second", own_page, leaving=0.1),
)


async def watch(scene: Scene, server: ServerProcess, viewers: int) -> str:
    """Returns a line of the table."""
    seen = Seen()
    there = await connect(server.url, [scene.wanted(i) for i in range(viewers)], seen)
    while seen.frames["page"] < viewers:
        await asyncio.sleep(0.05)
    coming = asyncio.create_task(come_and_go(scene, server.url, there, seen))
    await asyncio.sleep(WARM_S)
    seen.clear()
    start, cpu, own = time.monotonic(), cpu_seconds(server.pid), time.process_time()
    await asyncio.sleep(MEASURE_S)
    took = time.monotonic() - start
    used = (cpu_seconds(server.pid) - cpu) / took
    note("Evertable", "server cores for viewers", used, viewers=viewers, scene=scene.name, lost=seen.lost)
    cores = f"{used:.2f} | {(time.process_time() - own) / took:.2f}"
    counts = (seen.frames.total(), seen.frames["page"], seen.frames["total"])
    got = " | ".join(f"{count / took:,.0f}" for count in counts)
    line = f"| {scene.name} | {cores} | {got} | {seen.bytes / took / 1e6:.1f} | {spread(seen.ages)} | "
    line += f"{spread(seen.first_pages)} | {seen.lost} |"
    coming.cancel()
    for viewer in there:
        viewer.leave()
    return line


async def come_and_go(scene: Scene, url: str, there: list[Viewer], seen: Seen) -> None:
    """Replaces the oldest viewers, several times a second."""
    each, number = round(len(there) * scene.leaving * COMING_S), 0
    while each:
        await asyncio.sleep(COMING_S)
        for viewer in there[:each]:
            viewer.leave()
        del there[:each]
        there += await connect(url, [scene.wanted(number + i) for i in range(each)], seen)
        number += each


def spread(seconds: Iterable[float]) -> str:
    ms = np.array(list(seconds)) * 1e3
    return " / ".join(f"{part:.0f}" for part in np.percentile(ms, [50, 95, 99])) if len(ms) else "–"


def watching(scenes: Sequence[Scene], viewers: int, rate: int) -> None:
    print(f"\n### Watching: {viewers:,} viewers, {rate:,} changed rows/s, {MEASURE_S:.0f} s each")
    print("\nBudget: 500 viewers on one core at 1,000 changed rows/s. Ages and first pages: ms, 50 / 95 / 99 %.\n")
    print(
        "| viewers are | server cores | viewers' cores | frames/s | pages | totals | MB/s | age | first page | lost |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|")
    for scene in scenes:
        with ServerProcess(JoinType.NATURAL, 0, scene.touched, rate) as server:
            print(asyncio.run(watch(scene, server, viewers)), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--viewers", type=int, default=500, help="of the watching part; flips have 200")
    parser.add_argument("--rate", type=int, default=1_000, help="changed rows a second")
    parser.add_argument("--scene", help="only scenes with this text, such as 'flips'", default="")
    options = parser.parse_args()
    allow_many_files()
    print(description())
    if chosen := [scene for scene in SCENES if options.scene in scene.name]:
        watching(chosen, options.viewers, options.rate)
    if options.scene in "flips":
        flips(options.rate)


if __name__ == "__main__":
    main()
