"""Reports the state of the orchestrator and its generations in the tables for operators."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from evertable.generations.lifecycle import Generation, GenerationState, Lifecycle
from evertable.generations.review import ENOUGH, Figures, FindingKind, Review
from evertable.generations.running import RunningGeneration
from evertable.generations.stall import PATIENCE_S
from evertable.generations.status_tables import StatusTables, iso
from evertable.kafka.outages import WarningThrottle
from evertable.state.records import GenerationRow, Record


@dataclass
class _Shown:
    """What the table ``generations`` shows of a generation, and what was logged about it."""

    row: GenerationRow
    remark: str = ""
    """What looks wrong in its tables."""
    findings: set[tuple[FindingKind, str]] = field(default_factory=set)
    read_errors: WarningThrottle = field(default_factory=WarningThrottle)


class StatusReporter:
    """Keeps ``orchestrator_status`` and ``generations`` up to date, and remembers ended generations."""

    def __init__(
        self,
        life: Lifecycle,
        status_tables: StatusTables,
        running: Mapping[int, RunningGeneration],
        remember: Callable[[Record], None],
        max_memory_mb: int | None,
    ) -> None:
        self.last_applied: str | None = None
        self._life = life
        self._status = status_tables
        self._running = running
        self._remember = remember
        self._max_memory_mb = max_memory_mb
        self._shown: dict[int, _Shown] = {}
        self._failure = ""  # why the last build failed, until one is live
        self._outage, self._outage_since = "", 0.0
        self.review: dict[str, Any] | None = None
        """The last swap, for ``/api/status``, if it was held or went live with a warning."""

    def show(self) -> None:
        """Brings all status tables up to date."""
        for number, generation in self._life.generations.items():
            if (running := self._running.get(number)) is not None:
                shown = self._show_generation(running, generation.state, generation.reason)
                self._report_problems(running, shown)
        for number in self._shown.keys() - self._life.generations.keys():
            row = replace(self._shown.pop(number).row, retired=iso())
            self._status.generation(row)
            self._remember(row)
        self.show_status()

    def shown_before(self, number: int) -> list[GenerationRow]:
        """Returns the lingering generations, to be remembered: after a crash the next start ends them."""
        rows = [shown.row for shown in self._shown.values()]
        lingering = GenerationState.LINGERING.value
        return [replace(row, state=lingering) for row in rows if row.published and row.generation != number]

    def drop_review_of_another(self, live: int) -> None:
        """Drops the review of an earlier swap, because this generation goes live."""
        if self.review is not None and self.review["generation"] != live:
            self.review = None

    def set_kafka_outage(self, why: str) -> None:
        """Notes why Kafka is unreachable; an empty reason means that it answers again."""
        self._outage, self._outage_since = why, time.monotonic()

    @property
    def is_kafka_unreachable(self) -> bool:
        return bool(self._outage)

    def _show_generation(self, running: RunningGeneration, state: GenerationState, reason: str) -> _Shown:
        started, before = running.started, self._shown.get(running.number)
        row = GenerationRow(
            running.number,
            running.wiring,
            state.value,
            running.created,
            running.published,
            rows=running.rows or (before.row.rows if before else 0),
            reason=reason,
            query_id=started.query_id if started else "",
            run_id=started.run_id if started else "",
        )
        self._status.generation(row, running.progress.epoch if running.progress else None)
        shown = self._shown.setdefault(running.number, _Shown(row))
        shown.row = row
        return shown

    def _report_problems(self, running: RunningGeneration, shown: _Shown) -> None:
        """Logs each finding about its tables once, and for how long its changelog cannot be read."""
        if (feed := running.feed) is None:
            return
        least = 1 if feed.is_caught_up else ENOUGH
        review = Review.of(Figures.of(feed.tables), running.replaced_figures, least=least)
        for finding in review.findings:
            if (finding.kind, finding.topic) not in shown.findings:
                shown.findings.add((finding.kind, finding.topic))
                self._status.report("WARN", f"Generation {running.number}: {finding.sentence}")
        shown.remark = review.remark
        what = f"The changelog of generation {running.number}"
        if feed.read_error and shown.read_errors.due():
            self._status.report("WARN", f"{what} cannot be read: {feed.read_error} Trying again.")
        elif not feed.read_error and shown.read_errors.over():
            self._status.report("INFO", f"{what} is read again")

    def show_status(self) -> None:
        live, coming = self._life.live, self._life.coming
        self._note_failure()
        message = self._build_message()
        if live is None:
            state = coming.state.value if coming else "waiting"
            wiring = coming.wiring if coming else self._life.wanted
            self._status.status(wiring, self.last_applied, 0, state, 0, message)
            return
        running = self._running[live.number]
        stale = self._stale(live, running)
        if stale:
            message = f"not kept up to date for {time.monotonic() - running.last_running:.0f} s: {stale}"
        elif not message and live.number in self._shown:
            message = self._shown[live.number].remark
        state = "stale" if stale else "live"
        self._status.status(live.wiring, self.last_applied, live.number, state, running.rows, message)

    def _stale(self, live: Generation, running: RunningGeneration) -> str:
        """Returns why the tables are not kept up to date; empty if they are."""
        feed = running.feed
        if feed is not None and feed.is_full:
            return f"the tables have reached server.max_memory_mb, {self._max_memory_mb}"
        if feed is not None and feed.read_error:
            return feed.read_error
        if running.stale_reason or live.broken:
            return running.stale_reason or live.reason
        if running.source_problems:
            return next(iter(running.source_problems.values()))
        if feed is not None and feed.is_replaying:
            return "its query failed, and is reading again what it had not committed"
        since = max(self._outage_since, time.monotonic() - PATIENCE_S)
        is_fed = feed is not None and feed.last_fold > since
        return "" if is_fed else self._outage

    def _build_message(self) -> str:
        """Returns the progress of the generation that is being built, or why the last build failed."""
        coming = self._life.coming
        if coming is None:
            return f"{self._failure} Trying again." if self._failure and not self._life.live else self._failure
        feed = self._running[coming.number].feed
        done = f", {feed.progress.fraction:.0%}" if feed is not None and coming.state is GenerationState.WARMING else ""
        before = f"; the last one failed: {self._failure}" if self._failure else ""
        return f"generation {coming.number} is {coming.state}{done} ({coming.wiring}){before}"

    def _note_failure(self) -> None:
        live = self._life.live
        failed = [one for one in self._life.generations.values() if one.state is GenerationState.FAILED]
        if failed:
            self._failure = failed[-1].reason
        elif live and not live.broken:
            self._failure = ""
