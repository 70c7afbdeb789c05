"""The server process of ``benchmarks.viewers``: tables, accounts that flow into them, and flips on request.

Prints its address. For each line of input it flips to the other generation and prints the times; ends with its input.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from typing import Any, Self

from benchmarks.samples import folded, new_accounts
from benchmarks.viewer_load import allow_many_files
from tests.server_thread import ServerThread

from evertable.config.server import Server as Settings
from evertable.live.hub import Hub
from evertable.schema.joins import JoinType
from evertable.server.app import App
from evertable.tables.catalog import Catalog
from evertable.tables.generation import GenerationTables
from evertable.tables.table import Table


class ServerProcess:
    """The process, seen from the benchmark."""

    def __init__(self, join: JoinType, accounts: int, touched: int, rate: int, generations: int = 1) -> None:
        options = [join, accounts, touched, rate, generations]
        command = [sys.executable, "-m", "benchmarks.viewer_server", *map(str, options)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.pid = self._process.pid
        self.url = self._line()

    def flip(self) -> dict[str, float]:
        """Flips to the other generation, and returns monotonic times, which all processes share."""
        print(file=self._process.stdin, flush=True)
        times: dict[str, float] = json.loads(self._line())
        return times

    def _line(self) -> str:
        if self._process.stdout is None or not (line := self._process.stdout.readline()):
            raise RuntimeError("the server has ended")
        return line.strip()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()


class Flips:
    """Publishes generations in turn, and notes the times."""

    def __init__(self, catalog: Catalog, hub: Hub, generations: Sequence[dict[str, Table]]) -> None:
        self._catalog, self._hub, self._generations = catalog, hub, generations
        self._flipped: dict[int, float] = {}
        catalog.listen(self._note)

    def _note(self) -> None:
        self._flipped.setdefault(self._catalog.current.number, time.monotonic())

    async def flip(self) -> dict[str, float]:
        generation = self._catalog.current.generation % len(self._generations) + 1
        called = time.monotonic()
        publication = await self._hub.publish(generation, self._generations[generation - 1])
        flipped, returned = self._flipped[publication.number], time.monotonic()
        return {"publication": publication.number, "called": called, "flipped": flipped, "returned": returned}


def serve(join: JoinType, accounts: int, touched: int, rate: int, generations: int) -> None:
    allow_many_files()
    catalog = Catalog(["users_ui", "accounts_ui", "final_ui"])
    made = [folded(join, accounts=accounts, on_change=catalog.notify) for _ in range(generations)]
    named: list[dict[str, Table]] = [
        {"users_ui": one.left, "accounts_ui": one.right, "final_ui": one.joined} for one in made
    ]
    settings = Settings(port=0, max_queries=1_000_000, max_views=1_000_000)
    app = App(catalog, settings)
    flips = Flips(catalog, app.hub, named)
    catalog.publish(1, named[0])
    with ServerThread(app, settings) as server:
        flow: Any = (made, join, touched, rate, accounts)
        threading.Thread(target=_flow, args=flow, daemon=True).start()
        print(server.url, flush=True)
        for _ in sys.stdin:
            times = asyncio.run_coroutine_threadsafe(flips.flip(), app.hub.loop).result()
            print(json.dumps(times), flush=True)


def _flow(made: Sequence[GenerationTables], join: JoinType, touched: int, rate: int, first: int) -> None:
    """Folds new accounts into all generations, as a lingering one continues."""
    for batch in new_accounts(join, touched, rate, first):
        for tables in made:
            tables.fold(batch)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("join", type=JoinType)
    for name in ("accounts", "touched", "rate", "generations"):
        parser.add_argument(name, type=int)
    serve(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
