"""What ``evertable status`` shows: the server's status, and its table of generations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evertable.client.client import Client

NEWEST_GENERATIONS = 50
_NOT_IN_LINE = ("state", "wiring", "memory", "last applied", "lingering")


@dataclass(frozen=True)
class StatusSummary:
    """A server's status for people."""

    facts: Mapping[str, str]
    """Texts by their labels, in the order in which they are shown."""
    building: str
    """The generation that is being built; empty if there is none."""
    fraction: float | None
    """The part of its backlog that is in its tables, if that is known."""

    @property
    def progress(self) -> str:
        return self.building if self.fraction is None else f"{self.building}, {self.fraction:.0%}"

    def line(self) -> str:
        """Returns the facts that fit into one line."""
        facts = [f"{label} {text}" for label, text in self.facts.items() if label not in _NOT_IN_LINE]
        return "; ".join(filter(None, [self.facts["state"], self.facts["wiring"], *facts, self.progress]))


def read_summary(client: Client) -> StatusSummary:
    """Requests the status and the newest generations."""
    from evertable.client.errors import ServerRefusedError, decoding

    status = client.status()
    try:
        generations = client.table("generations").page(limit=NEWEST_GENERATIONS, newest_first=True).dicts()
    except ServerRefusedError:  # a server without an orchestrator has no such table
        generations = []
    with decoding():
        return summary(status, generations)


def summary(status: Mapping[str, Any], generations: Sequence[Mapping[str, Any]] = ()) -> StatusSummary:
    """Formats an answer of ``/api/status`` and rows of the table ``generations``, the newest first."""
    from evertable.client.text import visible

    row, flow = status["orchestrator"] or {}, status.get("flow", {})
    generation = row.get("generation") or status["generation"]
    lingering = sorted(each["generation"] for each in generations if each["state"] == "lingering")
    facts = {
        "wiring": wiring_of(row) or "not known yet",
        "state": row.get("state") or ("ready" if status["ready"] else "not ready"),
        "generation": f"{generation}, publication {status['publication']}" if generation else "",
        "rows": _formatted("{:,}", row.get("rows")),
        "rows/s": _formatted("{:,.1f}", flow.get("rows_per_s")),
        "lag": _formatted("{:,} records", flow.get("lag")),
        "data age": duration(flow["data_age_s"]) if flow else "",
        "last applied": row.get("lastApplied"),
        "lingering": f"generation {', '.join(map(str, lingering))}: a rollback is instant" if lingering else "",
        "memory": f"{status['memory']['process_bytes'] / 1e6:,.0f} MB",
        "message": row.get("message"),
    }
    building, fraction = "", None
    if new := next((each for each in generations if each["state"] in ("building", "warming")), None):
        build = status.get("build", {})
        if build.get("generation") != new["generation"]:  # the two requests saw different moments
            build = {"rows": new["rows"] or 0, "fraction": None}
        building = f"generation {new['generation']} is {new['state']}: {wiring_of(new)}, {build['rows']:,} rows"
        fraction = build["fraction"]
    return StatusSummary({label: visible(text) for label, text in facts.items() if text}, visible(building), fraction)


def wiring_of(row: Mapping[str, Any]) -> str:
    """Returns ``users_v1, left join with accounts_v1`` for a row with a wiring; empty if it has none yet."""
    topics = [value for key, value in row.items() if key.endswith("Topic")]
    join = row.get("joinType")
    return f"{topics[0]}, {join} join with {topics[1]}" if join and len(topics) == 2 and all(topics) else ""


def duration(seconds: float) -> str:
    """Formats a duration in the unit that suits its length."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 120:
        return f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def _formatted(form: str, value: object) -> str:
    return "" if value is None else form.format(value)
