"""How many viewers one server serves: ``python -m benchmarks.viewers [--viewers 500]``.

A server process holds a natural join of 100,000 users and folds 1,000 changed rows a second; another process holds the
viewers' sockets. Printed are the server's CPU, what viewers got, and how old a change was when it reached one.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import threading
import time
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
from benchmarks.machine import cpu_seconds, description
from benchmarks.tables import LEFT, RIGHT, changes

from evertable.changelog.changes import NO_REJECTS, PAIRS, Changes
from evertable.changelog.schema import ChangelogSchema
from evertable.config.joins import JoinType
from evertable.config.server import Server as Settings
from evertable.protocol.frames import SUBPROTOCOL
from evertable.server.app import create_app
from evertable.server.hub import Hub
from evertable.server.run import ServerThread
from evertable.server.socket import Sockets
from evertable.tables.catalog import Catalog
from evertable.tables.generation import GenerationTables

USERS, RATE, BATCHES = 100_000, 1_000, 100
WARM_S, MEASURE_S = 2.0, 10.0

SCENES: dict[str, Any] = {
    "all on one page, every row of it changing": (lambda i: {"limit": 100}, 100),
    "each on a page of its own": (lambda i: {"limit": 100, "offset": 100 * i}, 50_000),
    "all on one page, changes elsewhere": (lambda i: {"limit": 100, "offset": 90_000}, 50_000),
    "newest accounts first": (lambda i: {"limit": 100, "newestFirst": True}, 50_000),
    "20 sorted and filtered views": (
        lambda i: {"limit": 100, "sort": ["-balance"], "filter": f"age > {i % 20}"},
        50_000,
    ),
}


def serve(touched: int, rate: int) -> None:
    """The server process: prints its address, then folds changes until its input ends."""
    tables = GenerationTables(LEFT, RIGHT, JoinType.NATURAL)
    for batch in changes(JoinType.NATURAL, accounts=0):
        tables.fold(batch)
    catalog = Catalog(["users_ui", "accounts_ui", "final_ui"])
    tables._on_change = catalog.ring
    catalog.publish(1, {"users_ui": tables.left, "accounts_ui": tables.right, "final_ui": tables.joined})
    settings = Settings(port=0)
    hub = Hub(catalog, settings)
    app = create_app(catalog, settings, websocket=Sockets(hub, 5_000), lifespan=hub.running)
    with ServerThread(app, settings) as server:
        print(server.url, flush=True)
        threading.Thread(target=_fold, args=(tables, touched, rate), daemon=True).start()
        sys.stdin.read()


def _fold(tables: GenerationTables, touched: int, rate: int) -> None:
    """Accounts of random users, each with its time of birth as the balance."""
    layouts = ChangelogSchema(LEFT.columns, RIGHT.columns, JoinType.NATURAL).layouts
    random, size, offset, start = np.random.default_rng(1), rate // BATCHES, 0, time.monotonic()
    for number in range(1 << 30):
        time.sleep(max(0.0, start + number / BATCHES - time.monotonic()))
        ids = np.arange(offset, offset + size)
        offset += size
        owners = random.integers(0, touched, size)
        arrays = [ids, ids, [f"user-{i:08}" for i in owners], ["chq"] * size, [time.time()] * size]
        rows = [pa.array(array, field.type) for array, field in zip(arrays, layouts[1].arrow, strict=True)]
        pairs = [pa.array(array, pa.int64()) for array in (owners, ids, ids)]
        tables.fold(
            Changes(
                (layouts[0].empty, pa.RecordBatch.from_arrays(rows, schema=layouts[1].arrow)),
                pa.RecordBatch.from_arrays(pairs, schema=PAIRS),
                NO_REJECTS,
                size,
            )
        )


class Viewer(asyncio.Protocol):
    """A viewer that costs little: it counts frames and looks into some of them."""

    def __init__(self, host: str, subscribe: dict[str, Any], seen: Counter[str], ages: list[float]) -> None:
        self._host, self._subscribe, self._seen, self._ages = host, subscribe, seen, ages
        self._buffer = bytearray()
        self._open = False

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        transport.write(
            f"GET /ws HTTP/1.1\r\nHost: {self._host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
            f"Sec-WebSocket-Protocol: {SUBPROTOCOL}\r\n\r\n".encode()
        )

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self._open:
            if (end := self._buffer.find(b"\r\n\r\n")) < 0:
                return
            del self._buffer[: end + 4]
            self._open = True
            body = json.dumps(self._subscribe).encode()
            head = bytes((0x81, 0x80 | len(body))) if len(body) < 126 else bytes((0x81, 0xFE)) + len(body).to_bytes(2)
            self._transport.write(head + bytes(4) + body)
        while (size := _frame_size(self._buffer)) is not None and len(self._buffer) >= sum(size):
            self._frame(bytes(self._buffer[size[0] : sum(size)]))
            del self._buffer[: sum(size)]

    def _frame(self, frame: bytes) -> None:
        kind = frame[9 : frame.index(b'"', 9)].decode()
        self._seen[kind] += 1
        self._seen["bytes"] += len(frame)
        if kind == "patch" and self._seen["patch"] % 50 == 0:
            now = time.time()
            values = [value for _, _, value in json.loads(frame).get("cells", ())]
            values += [value for _, _, rows in json.loads(frame).get("splice", ()) for row in rows for value in row]
            born = [value for value in values if isinstance(value, float) and now - 60 < value]
            self._ages += [now - max(born)] if born else []


def _frame_size(buffer: bytearray) -> tuple[int, int] | None:
    """Bytes of the head and of the body, if they are known yet."""
    if len(buffer) < 10:
        return (2, buffer[1]) if len(buffer) >= 2 and buffer[1] < 126 else None
    short = buffer[1]
    if short < 126:
        return 2, short
    return (4, int.from_bytes(buffer[2:4])) if short == 126 else (10, int.from_bytes(buffer[2:10]))


async def watch(url: str, pid: int, viewers: int, scene: str, view: Any) -> None:
    host, port = url.removeprefix("http://").split(":")
    seen, ages = Counter[str](), list[float]()
    loop = asyncio.get_running_loop()
    table = "accounts_ui" if scene.startswith("newest") else "final_ui"
    for i in range(viewers):
        subscribe = {"type": "subscribe", "id": "a", "table": table, "view": view(i)}
        await loop.create_connection(lambda s=subscribe: Viewer(host, s, seen, ages), host, int(port))  # type: ignore[misc]
    while seen["page"] < viewers:
        await asyncio.sleep(0.05)
    await asyncio.sleep(WARM_S)
    seen.clear()
    ages.clear()
    start, cpu, own = time.monotonic(), cpu_seconds(pid), time.process_time()
    await asyncio.sleep(MEASURE_S)
    took = time.monotonic() - start
    server, mine = (cpu_seconds(pid) - cpu) / took, (time.process_time() - own) / took
    frames = sum(count for kind, count in seen.items() if kind != "bytes")
    old = np.percentile(ages, [50, 95, 99]) * 1e3 if ages else [float("nan")] * 3
    got = " | ".join(f"{count / took:,.0f}" for count in (frames, seen["page"], seen["total"]))
    megabytes, age = seen["bytes"] / took / 1e6, " / ".join(f"{ms:.0f}" for ms in old)
    print(f"| {scene} | {server:.2f} | {mine:.2f} | {got} | {megabytes:.1f} | {age} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--viewers", type=int, default=500)
    parser.add_argument("--rate", type=int, default=RATE)
    parser.add_argument("--scene", help="only scenes that contain this text", default="")
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve is not None:
        return serve(options.serve, options.rate)
    print(description())
    print(f"{options.viewers} viewers, {options.rate:,} changed rows/s, {MEASURE_S:.0f} s each\n")
    print("| viewers | server cores | viewers' cores | frames/s | pages | totals | MB/s | age ms p50/p95/p99 |")
    print("|---|---|---|---|---|---|---|---|")
    for scene, (view, touched) in SCENES.items():
        if options.scene in scene:
            command = [sys.executable, "-m", "benchmarks.viewers", "--serve", str(touched), "--rate", str(options.rate)]
            with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
                if server.stdin is None or server.stdout is None:
                    raise RuntimeError("the server has no pipes")
                asyncio.run(watch(server.stdout.readline().strip(), server.pid, options.viewers, scene, view))
                server.stdin.close()
    return None


if __name__ == "__main__":
    main()
