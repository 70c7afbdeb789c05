"""The status tables: what the orchestrator does and did, as rows that viewers can watch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime

import structlog

from evertable.config.names import OPERATORS
from evertable.control.messages import ControlKeys, Given
from evertable.schema.columns import Column, ColumnType, Kind
from evertable.schema.wiring import Wiring
from evertable.state.records import GenerationRow
from evertable.tables.bounded import BoundedTable

STATUS, LOGS, MESSAGES, GENERATIONS, DEAD_LETTERS = OPERATORS
MAX_ROWS = 10_000
MAX_GENERATIONS = 1_000

log = structlog.get_logger()

_TEXT = ColumnType(Kind.STRING)
_NUMBERS = {
    "partition": ColumnType(Kind.INT),
    **dict.fromkeys(("offset", "generation", "rows", "epoch"), ColumnType(Kind.LONG)),
}


def iso(moment: datetime | None = None) -> str:
    """Formats a time as in all status tables: ISO-8601, UTC, with milliseconds. The default is now."""
    return (moment or datetime.now(UTC)).astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def iso_of_ms(ms: int) -> str | None:
    """Formats a Kafka timestamp; None if it is out of range."""
    try:
        return iso(datetime.fromtimestamp(ms / 1000, UTC))
    except (OverflowError, ValueError, OSError):
        return None


class StatusTables:
    """``orchestrator_status``, ``orchestrator_logs``, ``control_raw`` and ``generations``."""

    def __init__(self, keys: ControlKeys, on_change: Callable[[], None]) -> None:
        def table(limit: int, *names: str) -> BoundedTable:
            return BoundedTable([Column(name, _NUMBERS.get(name, _TEXT)) for name in names], limit, on_change)

        wiring, times, spark = keys.names, ("created", "published", "retired"), ("queryId", "runId", "epoch")
        self._status = table(1, *wiring, "lastApplied", "generation", "state", "rows", "message")
        self._logs = table(MAX_ROWS, "ts", "level", "msg")
        self._messages = table(MAX_ROWS, *wiring, "ts", "partition", "offset", "result", "reason")
        self._generations = table(MAX_GENERATIONS, "generation", *wiring, "state", *times, "rows", "reason", *spark)
        self._keys = keys
        self._known: dict[int, tuple[object, ...]] = {}

    @property
    def tables(self) -> dict[str, BoundedTable]:
        """The tables by their public names, which never flip."""
        return {STATUS: self._status, LOGS: self._logs, MESSAGES: self._messages, GENERATIONS: self._generations}

    def report(self, level: str, message: str) -> None:
        """Logs a line for operators, in ``orchestrator_logs`` and in the process's own log."""
        self._logs.append([(iso(), level, message)])
        {"INFO": log.info, "WARN": log.warning, "ERROR": log.error}[level](message)

    def status(
        self, wiring: Wiring | None, applied: str | None, generation: int, state: str, rows: int, message: str
    ) -> None:
        """Replaces the one row of ``orchestrator_status``."""
        row = (*self._wiring(wiring), applied, generation, state, rows, message)
        if self._status.rows() != [row]:
            self._status.put({"status": row})

    def message(self, place: tuple[int, int], given: Given, ts: str | None, result: str, reason: str) -> None:
        """Adds or replaces a control message and its result."""
        self._messages.put({place: (*(given.get(name) for name in self._keys.names), ts, *place, result, reason)})

    def generation(self, row: GenerationRow, epoch: int | None = None) -> None:
        """Adds or replaces a generation; ``epoch`` is the last one that Spark committed."""
        times = (row.created or None, row.published or None, row.retired or None)
        spark = (row.query_id or None, row.run_id or None, epoch)
        values = (row.generation, *self._wiring(row.wiring), row.state, *times, row.rows, row.reason, *spark)
        if self._known.get(row.generation) != values:
            self._known[row.generation] = values
            self._generations.put({row.generation: values})

    def _wiring(self, wiring: Wiring | None) -> tuple[str | None, ...]:
        values: Mapping[str, str] = {} if wiring is None else self._keys.message(wiring)
        return tuple(values.get(name) for name in self._keys.names)
