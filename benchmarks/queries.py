"""The cost of many different filters for viewers without any: ``python -m benchmarks.queries [--queries 100 1000]``.

A natural join of 100,000 users, 1,000 changed rows a second. More and more viewers follow different filters, 60 on a
socket. Printed are the age of changes at a viewer of a plain page, the time of a plain page over HTTP, and the
server's processor time. The default of ``server.max_queries`` was chosen with it.
"""

from __future__ import annotations

import argparse
import asyncio
import time

import httpx
import numpy as np
from benchmarks.machine import cpu_seconds, description
from benchmarks.viewer_load import Seen, Wanted, allow_many_files, connect
from benchmarks.viewer_server import ServerProcess

from evertable.schema.joins import JoinType

ON_A_SOCKET = 60
WARM_S, MEASURE_S, PATIENCE_S = 3.0, 15.0, 120.0


def filters(count: int) -> list[list[Wanted]]:
    """Returns the subscriptions of viewers, each with a different filter."""
    wanted: list[Wanted] = [
        ("final_ui", {"limit": 20, "filter": f"age >= 0 and balance > {number}"}) for number in range(count)
    ]
    return [wanted[start : start + ON_A_SOCKET] for start in range(0, count, ON_A_SOCKET)]


async def measure(server: ServerProcess, queries: int) -> str:
    """Returns a line of the table."""
    plain, others = Seen(), Seen()
    start = time.monotonic()
    there = await connect(server.url, [[("final_ui", {"limit": 100})]], plain)
    there += await connect(server.url, filters(queries), others)
    while others.frames["page"] < queries and time.monotonic() < start + PATIENCE_S:
        await asyncio.sleep(0.05)
    all_s = time.monotonic() - start
    await asyncio.sleep(WARM_S)
    plain.clear()
    cpu, start, waits = cpu_seconds(server.pid), time.monotonic(), []
    async with httpx.AsyncClient(base_url=server.url, timeout=60) as client:
        while time.monotonic() < start + MEASURE_S:
            asked = time.monotonic()
            await client.get("/api/tables/final_ui/rows", params={"limit": 100})
            waits.append(time.monotonic() - asked)
            await asyncio.sleep(0.05)
    used = (cpu_seconds(server.pid) - cpu) / (time.monotonic() - start)
    for viewer in there:
        viewer.leave()
    await asyncio.sleep(1)
    return f"| {queries:,} | {all_s:.1f} | {spread(plain.ages)} | {spread(waits)} | {used:.2f} |"


def spread(seconds: list[float]) -> str:
    if not seconds:
        return "none"
    return " / ".join(f"{ms:.0f}" for ms in np.percentile(np.array(seconds) * 1e3, [50, 95]))


async def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", type=int, nargs="+", default=[0, 100, 300, 1_000, 3_000, 10_080])
    wanted = parser.parse_args()
    allow_many_files()
    print(f"{description()}\n")
    print("| filters | all shown after s | age of a change, ms: median / 95 % | plain page, ms | server cores |")
    print("|---|---|---|---|---|")
    with ServerProcess(JoinType.NATURAL, 0, 100, 1_000) as server:
        for queries in wanted.queries:
            print(await measure(server, queries), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
