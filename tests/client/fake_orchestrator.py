"""A real server with a fake orchestrator behind it."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from tests.live.samples import settings
from tests.server_thread import ServerThread

from evertable.errors import EvertableError
from evertable.schema.columns import parse_columns
from evertable.server.app import App
from evertable.tables.bounded import BoundedTable
from evertable.tables.catalog import Catalog


class FakeOrchestrator:
    """Records control messages; tests set their results: ``orchestrator.settle((0, 0), "applied")``."""

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
            table._on_change = self.catalog.notify
        self.direct = direct
        self.answer: Mapping[str, Any] | EvertableError | None = None
        self.received: list[Mapping[str, Any]] = []
        self.was_asked = threading.Event()
        self._port = 0
        self._running: ServerThread[App] | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        chosen = settings(port=self._port)
        app = App(self.catalog, chosen, control=self._control, rollback=self._rollback)
        self.hub = app.hub
        self._running = ServerThread(app, chosen)
        self._running.start()
        self._port = self._running.port

    def stop(self) -> None:
        if self._running is not None:
            self._running.stop()
            self._running = None

    def settle(self, position: tuple[int, int], result: str, reason: str = "") -> None:
        """Sets the result of the message at a partition and an offset."""
        message = self.received[position[1]]
        row = (*(message.get(key) for key in self.keys), "2026-01-31T09:00:00.000Z", *position, result, reason)
        self.messages.put({position: row})

    def set_status(self, *wiring: str, generation: int, state: str = "live", rows: int = 0, message: str = "") -> None:
        """Sets the row of ``orchestrator_status``."""
        self.status.put({0: (*wiring, "2026-01-31T09:00:00.000Z", generation, state, rows, message)})

    def set_generation(self, number: int, *wiring: str, state: str, rows: int = 0) -> None:
        self.generations.put({number: (number, *wiring, state, None, None, None, rows, "")})

    async def _control(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        self.received.append(message)
        return self._answer()

    async def _rollback(self) -> Mapping[str, Any]:
        self.received.append({"rollback": True})
        return self._answer()

    def _answer(self) -> Mapping[str, Any]:
        self.was_asked.set()
        if isinstance(self.answer, EvertableError):
            raise self.answer
        position = {"partition": -1 if self.direct else 0, "offset": len(self.received) - 1}
        return position if self.answer is None else {**position, **self.answer}
