"""What all generations of an app share: where they are built, and the counts of what they have done."""

from __future__ import annotations

import shutil
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from evertable.changelog.topics import ChangelogTopics
from evertable.config import Config
from evertable.engine.process import Engine
from evertable.engine.spec import local_path
from evertable.generations.events import OrchestratorEvent
from evertable.generations.feed import Feed

DELETE_S, DELETE_RETRY_S = 5.0, 0.1
"""How long deleting a checkpoint may take, and the pause between two attempts."""


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
            tables = [feed.tables for feed in self._feeds]
        return sum(each.nbytes for each in tables)

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
    checkpoints: str
    """The app's checkpoint folder."""
    ring: Callable[[], None]
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

    def checkpoint(self, generation: int) -> str:
        return f"{self.checkpoints}/g{generation:06d}"

    def delete_checkpoint(self, generation: int) -> None:
        """Deletes a generation's checkpoint, if it is in the local file system.

        A task that was just stopped may still write there. What is left after a while, the next start deletes.
        """
        path = local_path(self.checkpoint(generation))
        deadline = time.monotonic() + DELETE_S
        while path is not None and path.exists() and time.monotonic() < deadline:
            shutil.rmtree(path, ignore_errors=True)
            time.sleep(DELETE_RETRY_S)

    def delete(self, generation: int) -> None:
        """Deletes the changelog and the checkpoint of an ended generation."""
        self.topics.delete(generation)
        self.delete_checkpoint(generation)

    def checkpoints_left(self) -> list[int]:
        """Returns the generations that have a checkpoint in the local file system."""
        root = local_path(self.checkpoints)
        found = root.glob("g" + "[0-9]" * 6) if root is not None and root.is_dir() else ()
        return sorted(int(path.name[1:]) for path in found)
