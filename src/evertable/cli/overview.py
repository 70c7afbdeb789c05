"""What an operator wants to see at a glance, from what a server tells of itself.

Servers differ in what they tell: whatever is missing, or not of the kind that it should be, is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evertable.client.client import Client

ON_THE_WAY = ("building", "warming")
GENERATIONS = 50  # how many of the newest are looked at


@dataclass(frozen=True)
class Progress:
    """A generation on its way: how much of what it has to hold it holds, if that is known."""

    generation: int
    state: str
    wiring: str
    rows: int | None
    fraction: float | None

    def __str__(self) -> str:
        rows = "" if self.rows is None else f", {self.rows:,} rows"
        return f"generation {self.generation} is {self.state}: {self.wiring}{rows}"

    def line(self) -> str:
        """With how far it is."""
        return f"{self}" if self.fraction is None else f"{self}, {self.fraction:.0%}"


@dataclass(frozen=True)
class Overview:
    """``/api/status`` and the newest rows of the table ``generations``."""

    wiring: str
    state: str
    generation: int | None
    publication: int | None
    rows: int | None
    rows_per_s: float | None
    lag: int | None
    data_age_s: float | None
    memory_mb: float | None
    applied: str
    message: str
    progress: Progress | None
    lingering: tuple[int, ...]

    @classmethod
    def of(cls, status: Mapping[str, Any], generations: Iterable[Mapping[str, Any]] = ()) -> Overview:
        row, flow, rows = _object(status, "orchestrator"), _object(status, "flow"), list(generations)
        memory = _number(_object(status, "memory").get("process_bytes"))
        return cls(
            wiring=wiring_of(row),
            state=_text(row.get("state")) or ("ready" if status.get("ready") is True else "not ready"),
            generation=_whole(row.get("generation")) or _whole(status.get("generation")),
            publication=_whole(status.get("publication")),
            rows=_whole(row.get("rows")),
            rows_per_s=_number(flow.get("rows_per_s")),
            lag=_whole(flow.get("lag")),
            data_age_s=_number(flow.get("data_age_s")),
            memory_mb=None if memory is None else memory / 1e6,
            applied=_text(row.get("lastApplied")),
            message=_text(row.get("message")),
            progress=_progress(_object(status, "build"), rows),
            lingering=tuple(sorted(n for row in rows if row.get("state") == "lingering" and (n := _number_of(row)))),
        )

    def since(self, before: Overview, seconds: float) -> Overview:
        """With the rows per second, where the server does not tell them, from how many there were before."""
        if self.rows_per_s is not None or self.rows is None or before.rows is None:
            return self
        if (self.generation, self.publication) != (before.generation, before.publication):
            return self
        return replace(self, rows_per_s=max(self.rows - before.rows, 0) / seconds)

    def lines(self) -> Iterator[tuple[str, str]]:
        """A label and a text for each thing that is known."""
        yield "wiring", self.wiring or "not known yet"
        yield "state", self.state
        if self.generation:
            publication = "" if self.publication is None else f", publication {self.publication}"
            yield "generation", f"{self.generation}{publication}"
        if self.rows is not None:
            yield "rows", f"{self.rows:,}"
        if self.rows_per_s is not None:
            yield "rows/s", f"{self.rows_per_s:,.1f}"
        if self.lag is not None:
            yield "lag", f"{self.lag:,} records"
        if self.data_age_s is not None:
            yield "data age", duration(self.data_age_s)
        if self.applied:
            yield "last applied", self.applied
        if self.lingering:
            yield "lingering", f"generation {', '.join(map(str, self.lingering))}: a rollback is instant"
        if self.memory_mb is not None:
            yield "memory", f"{self.memory_mb:,.0f} MB"
        if self.message:
            yield "message", self.message

    def line(self) -> str:
        """What is left of it where one line has to do."""
        known = {label: text for label, text in self.lines() if label not in ("memory", "last applied", "lingering")}
        parts = [known.pop("state"), known.pop("wiring"), *(f"{label} {text}" for label, text in known.items())]
        if self.progress is not None:
            parts.append(self.progress.line())
        return "; ".join(parts)


def look(client: Client) -> Overview:
    """One look at the server."""
    from evertable.client.errors import ServerRefusedError

    status = client.status()
    try:
        page = client.table("generations").page(limit=GENERATIONS, newest_first=True)
    except ServerRefusedError:  # a server without an orchestrator has no such table
        return Overview.of(status)
    names = [column.name for column in page.columns]
    return Overview.of(status, [dict(zip(names, row, strict=True)) for row in page.rows])


def wiring_of(row: Mapping[str, Any]) -> str:
    """``users_v1, left join with accounts_v1``, from a row of an operators' table; empty if it does not say."""
    topics = [_text(value) for key, value in row.items() if key.endswith("Topic")]
    join = _text(row.get("joinType"))
    return f"{topics[0]}, {join} join with {topics[1]}" if len(topics) == 2 and all(topics) and join else ""


def duration(seconds: float) -> str:
    """In the unit that people would say it in."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _progress(build: Mapping[str, Any], generations: Iterable[Mapping[str, Any]]) -> Progress | None:
    """Of the newest generation that is on its way; the table has it, ``build`` knows how far it is."""
    row = next((row for row in generations if row.get("state") in ON_THE_WAY), {})
    number = _number_of(row) or _number_of(build)
    if not number:
        return None
    told = build if _number_of(build) == number else {}
    fraction = _number(told.get("fraction"))
    return Progress(
        number,
        _text(row.get("state")) or _text(told.get("state")) or ON_THE_WAY[0],
        wiring_of(row) or "its wiring is not known",
        _whole(told.get("rows")) if "rows" in told else _whole(row.get("rows")),
        None if fraction is None else min(max(fraction, 0.0), 1.0),
    )


def _number_of(row: Mapping[str, Any]) -> int | None:
    return _whole(row.get("generation"))


def _object(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = data.get(key)
    return found if isinstance(found, dict) else {}


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _whole(value: object) -> int | None:
    number = _number(value)
    return None if number is None else int(number)


def _text(value: object) -> str:
    """Without what would move the cursor or colour the terminal."""
    text = value if isinstance(value, str) else ""
    return "".join(char if char.isprintable() else "·" for char in text)
