"""An overview of the generations, for threads other than the orchestrator's."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from evertable.generations.running import RunningGeneration
from evertable.generations.watch import TopicWatch
from evertable.schema.wiring import Wiring


@dataclass(frozen=True)
class Overview:
    """What is live, what comes next, and what was live before.

    It is replaced, never changed; but the generations in it change, so that other threads only read single values.
    """

    live: RunningGeneration | None = None
    coming: RunningGeneration | None = None
    previous: Wiring | None = None
    """The wiring to which a rollback would go."""
    review: Mapping[str, Any] | None = None
    """The swap that was held, or went live with a warning."""


class CurrentOverview:
    """Holds the newest overview; the orchestrator replaces it, and any thread may read it."""

    def __init__(self, watch: TopicWatch) -> None:
        self.snapshot: Overview | None = None
        """None until the orchestrator runs."""
        self._watch = watch

    @property
    def lag(self) -> Mapping[tuple[str, str], float]:
        """Records of the live generation's topics that are not in its tables, by source and partition."""
        live = self.snapshot.live if self.snapshot else None
        found = self._watch.lag(live.number) if live else {}
        return {(source, str(partition)): float(behind) for (source, partition), behind in found.items()}

    @property
    def flow(self) -> Mapping[str, Any]:
        """For ``/api/status``: how fast rows come in, how far behind they are, and how far a build has come."""
        overview = self.snapshot
        if overview is None:
            return {}
        found: dict[str, Any] = {} if overview.review is None else {"review": overview.review}
        live, coming = overview.live, overview.coming
        feed = live.feed if live else None
        if live is not None and feed is not None:
            since = live.last_running if live.stale_reason else feed.last_fold
            found["flow"] = {"rows_per_s": feed.rate, "data_age_s": round(time.monotonic() - since, 1)}
            if lag := self.lag:
                found["flow"]["lag"] = int(sum(lag.values()))
        feed = coming.feed if coming else None
        if coming is not None and feed is not None:
            found["build"] = {"generation": coming.number, "fraction": feed.progress.fraction, "rows": coming.rows}
        return found
