"""A real server with somebody behind it who plays the orchestrator, as docs/CONTROL.md has it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.live.samples import settings

from evertable.errors import EvertableError
from evertable.schema.columns import parse_columns
from evertable.server.app import create_live_app
from evertable.server.run import ServerThread
from evertable.tables.bounded import BoundedTable
from evertable.tables.catalog import Catalog

EVERTABLE = str(Path(sys.executable).with_name("evertable"))


class Played:
    """Takes control messages and lets tests say what becomes of them: ``played.settle((0, 0), "applied")``."""

    def __init__(self, *sources: str, direct: bool = False) -> None:
        self.keys = (*(f"{source}Topic" for source in sources or ("users", "accounts")), "joinType")
        wiring = dict.fromkeys(self.keys, "string")
        outcome = {"ts": "string", "partition": "int", "offset": "long", "result": "string", "reason": "string"}
        status = {"lastApplied": "string", "generation": "long", "state": "string", "rows": "long", "message": "string"}
        times = dict.fromkeys(("created", "published", "retired"), "string")
        life = {**times, "rows": "long", "reason": "string"}
        self.status = BoundedTable(parse_columns(wiring | status), 1)
        self.messages = BoundedTable(parse_columns(wiring | outcome), 100)
        self.generations = BoundedTable(parse_columns({"generation": "long", **wiring, "state": "string", **life}), 100)
        tables = {"orchestrator_status": self.status, "control_raw": self.messages, "generations": self.generations}
        self.catalog = Catalog(["final_ui"], tables)
        for table in tables.values():
            table._on_change = self.catalog.ring
        self.direct = direct
        self.answer: Mapping[str, Any] | EvertableError | None = None
        self.asked: list[Mapping[str, Any]] = []
        self.heard = threading.Event()
        self._port = 0
        self._running: ServerThread | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        chosen = settings(port=self._port)
        app, self.hub = create_live_app(self.catalog, chosen, control=self._control, rollback=self._rollback)
        self._running = ServerThread(app, chosen)
        self._running.start()
        self._port = self._running.port

    def stop(self) -> None:
        if self._running is not None:
            self._running.stop()
            self._running = None

    def settle(self, place: tuple[int, int], result: str, reason: str = "") -> None:
        """The message's row, in place."""
        said = self.asked[place[1]]
        row = (*(said.get(key) for key in self.keys), "2026-01-31T09:00:00.000Z", *place, result, reason)
        self.messages.put({place: row})

    def live(self, *wiring: str, generation: int, state: str = "live", rows: int = 0, message: str = "") -> None:
        """The one row of the status."""
        self.status.put({0: (*wiring, "2026-01-31T09:00:00.000Z", generation, state, rows, message)})

    def generation(self, number: int, *wiring: str, state: str, rows: int = 0) -> None:
        self.generations.put({number: (number, *wiring, state, None, None, None, rows, "")})

    async def _control(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        self.asked.append(message)
        return self._answered()

    async def _rollback(self) -> Mapping[str, Any]:
        self.asked.append({"rollback": True})
        return self._answered()

    def _answered(self) -> Mapping[str, Any]:
        self.heard.set()
        if isinstance(self.answer, EvertableError):
            raise self.answer
        place = {"partition": -1 if self.direct else 0, "offset": len(self.asked) - 1}
        return place if self.answer is None else {**place, **self.answer}


def evertable(played: Played, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    """A command of its own, against that server."""
    env = {**os.environ, "EVERTABLE_URL": played.url, **environment}
    command = [EVERTABLE, *arguments]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    """Exit code, output and errors of a command that ends by itself."""
    with process:
        out, said = process.communicate(timeout=60)
    return process.returncode, out, said
