"""What all generations of an app share: where they are built, and the counts of what they have done."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from evertable.changelog.topics import ChangelogTopics
from evertable.config import Config
from evertable.engine.process import Engine
from evertable.generations.checkpoint_folders import CheckpointFolder
from evertable.generations.events import OrchestratorEvent
from evertable.generations.feed import Feed


class GenerationCounters:
    """Counts changes folded and records rejected by all generations, ended ones included: counters only grow.

    ``on_swap`` is called with the result and the duration of each swap.
    """

    def __init__(self, on_swap: Callable[[str, float], None]) -> None:
        self.swapped = on_swap
        self._lock = threading.Lock()
        self._feeds: set[Feed] = set()
        self._folded = 0
        self._rejects: Counter[str] = Counter()

    def add(self, feed: Feed) -> None:
        """Counts what this feed folds from now on."""
        with self._lock:
            self._feeds.add(feed)

    def retire(self, feed: Feed) -> None:
        """Keeps the counts of a feed that has ended, and lets go of its tables."""
        with self._lock:
            if feed in self._feeds:
                self._feeds.discard(feed)
                self._folded += feed.folded
                self._rejects.update(feed.tables.rejects_by_source)

    @property
    def tables_bytes(self) -> int:
        """About how much memory the tables of all generations take."""
        with self._lock:
            feeds = list(self._feeds)
        return sum(feed.tables.nbytes for feed in feeds)

    @property
    def folded(self) -> int:
        with self._lock:
            return self._folded + sum(feed.folded for feed in self._feeds)

    @property
    def rejects(self) -> Counter[str]:
        with self._lock:
            return sum((Counter(feed.tables.rejects_by_source) for feed in self._feeds), Counter(self._rejects))


@dataclass(frozen=True)
class GenerationContext:
    """Where generations are built: what all of them use."""

    config: Config
    topics: ChangelogTopics
    engine: Engine
    checkpoints: CheckpointFolder
    notify: Callable[[], None]
    """Notifies viewers that a table has changed."""
    counts: GenerationCounters
    post: Callable[[OrchestratorEvent], None]
    """Hands an event to the orchestrator."""
    report: Callable[[str, str], None]
    """Logs a line for operators, of a level."""

    def fits(self, more: int = 1) -> bool:
        """Whether so many more bytes of tables fit into ``server.max_memory_mb``."""
        limit = self.config.server.max_memory_mb
        return limit is None or self.counts.tables_bytes + more <= limit << 20

    def delete(self, generation: int) -> None:
        """Deletes the changelog and the checkpoint of an ended generation."""
        self.topics.delete(generation)
        self.checkpoints.delete(generation)

    def left_behind(self) -> set[int]:
        """Returns the generations that have a changelog or a checkpoint."""
        return {*self.topics.list(), *self.checkpoints.generations()}
