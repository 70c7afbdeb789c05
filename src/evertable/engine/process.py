"""The engine as the rest of Evertable sees it: a child process that is kept alive, and no Spark types."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from evertable.backoff import Delays, growing
from evertable.engine.launch import PROGRAM, Child, EngineSettings
from evertable.engine.protocol import (
    Died,
    EngineEvent,
    EpochCommitted,
    Failed,
    Ready,
    Released,
    Started,
    Stopped,
    TaskSlots,
    command,
)
from evertable.engine.session import RELEASE_S, is_cluster
from evertable.engine.spec import GenerationSpec, to_wire
from evertable.errors import EngineError, EvertableError, NotEnoughSlotsError, QueryFailedError
from evertable.install.jars import jar_paths
from evertable.install.java import find_java
from evertable.install.operator import operator_jar

log = logging.getLogger(__name__)

HEALTHY_S = 60.0  # a child that lived so long, or committed an epoch, did not die of its start
ARRIVAL_S = 30.0  # after a cluster's executors came or went, others may still come for so long
HUNG_S = 10.0  # a query that is started again because it hangs gets so long to stop; then Spark is killed

LACKING = NotEnoughSlotsError.condition

Listener = Callable[[EngineEvent], None]
"""Called on the engine's own thread: it must be quick, and must not call the engine, which answers by that thread."""


@dataclass
class _Wanted:
    """A generation that should be running."""

    spec: GenerationSpec
    delays: Iterator[float]
    starts: int = 0  # how often a child was told to start it: before the first it holds no slots
    started: Started | None = None
    failed: Failed | None = None
    committed: EpochCommitted | None = None  # what it has read so far
    commits: int = 0  # since it was last started
    timer: threading.Timer | None = None

    def slots(self, shuffle_partitions: int) -> int:
        at_build, found = self.spec.slots(shuffle_partitions), self.committed
        partitions = len(found.left) + len(found.right) if found else 0  # topics may grow
        return max(at_build, partitions + shuffle_partitions) if at_build else 0

    def made_progress(self, progress: EpochCommitted) -> bool:
        """Whether a commit shows that the query is well: its first may have come before it read anything."""
        before, self.committed, self.commits = self.committed, progress, self.commits + 1
        return self.commits > 1 or not before or (before.left, before.right) != (progress.left, progress.right)

    @property
    def lacks_slots(self) -> bool:
        """Whether it waits to be tried again because there were too few slots."""
        return self.timer is not None and self.failed is not None and self.failed.condition == LACKING

    def cancel_retry(self) -> None:
        if self.timer:
            self.timer.cancel()
            self.timer = None


class Engine:
    """Starts and stops generations in a child process that is started again whenever it dies.

    A wanted generation comes back by itself: after the child's death, and after a failure that may heal.
    Every event is passed to the listener, in order, on one thread.
    """

    def __init__(
        self,
        settings: EngineSettings,
        listener: Listener | None = None,
        delays: Delays = growing,
        program: Sequence[str] = PROGRAM,
    ) -> None:
        self._settings = settings
        self._listener = listener or _nobody
        self._delays = delays
        self._program = program
        self._changed = threading.Condition()
        self._wanted: dict[int, _Wanted] = {}
        self._stopping: set[int] = set()
        self._unreleased: set[int] = set()
        self._ready: Ready | None = None
        self._death: Died | None = None
        self._healthy = False
        self._child: Child | None = None
        self._closing = threading.Event()
        self._arrival_s = ARRIVAL_S if is_cluster(settings.master) else 0.0
        self._arrivals_end = 0.0
        self._keeper = threading.Thread(target=self._keep_alive, name="engine-keeper", daemon=True)

    def open(self, timeout_s: float = 120) -> Ready:
        """Starts the child process and waits until Spark answers; raises as soon as it is known not to."""
        find_java(), jar_paths("connector"), operator_jar()  # what is missing is said here, not on the keeper's thread
        self._keeper.start()
        with self._changed:
            self._changed.wait_for(lambda: self._ready or self._death or self._closing.is_set(), timeout_s)
            ready, death = self._ready, self._death
        if ready:
            return ready
        closed = "it was closed meanwhile" if self._closing.is_set() else ""
        self.close()
        why = death.reason if death else closed or f"no answer within {timeout_s:g} s"
        raise EngineError(f"Spark did not start: {why}.", f"Its log: {self._settings.log or 'on standard error'}.")

    def listen(self, listener: Listener | None) -> None:
        """Passes every further event to this listener instead of the one before; None for nobody."""
        self._listener = listener or _nobody

    @property
    def pid(self) -> int | None:
        """The child process's id while it runs."""
        return self._child.pid if self._child else None

    @property
    def running(self) -> frozenset[int]:
        """The generations that should be running."""
        with self._changed:
            return frozenset(self._wanted)

    def has_begun_again(self, generation: int) -> bool:
        """Whether its query was started more than once; known before anything that the second start writes."""
        with self._changed:
            wanted = self._wanted.get(generation)
            return wanted is not None and wanted.starts > 1

    def free_slots(self) -> int | None:
        """Task slots that no generation holds; None while Spark is not there."""
        with self._changed:
            return self._free_slots()

    def start(self, spec: GenerationSpec, timeout_s: float = 60) -> Started:
        """Starts a generation's query; raises if there are too few slots or Spark refuses the plan.

        A cluster's executors come after its start, and after one was lost: then slots are waited for.
        """
        number = spec.generation
        with self._changed:
            self._changed.wait_for(lambda: self._ready or self._closing.is_set(), timeout_s)  # it may be coming back
            if self._ready is None:
                raise EngineError(f"Spark is not there to start generation {number}.")
            if number in self._wanted:
                raise EngineError(f"Generation {number} is running already.")
            wanted = self._wanted[number] = _Wanted(spec, self._delays())
            try:
                self._await_slots(wanted)
            except EngineError:
                self._drop(number)
                raise
            self._tell_to_start(wanted)
            self._changed.wait_for(lambda: wanted.started or wanted.failed or not self._is_wanted(wanted), timeout_s)
            if wanted.started:
                return wanted.started
            if not self._is_wanted(wanted):
                raise EngineError(f"Generation {number} was stopped before it had started.")
            self._drop(number)
        if wanted.failed:
            failed = wanted.failed
            what = f"Generation {number} did not start: {failed.message}"
            raise QueryFailedError(what, reason=failed.condition, retriable=failed.retriable)
        self.stop(number)
        raise EngineError(f"Generation {number} did not start within {timeout_s:g} s.")

    def stop(self, generation: int, timeout_s: float = 30) -> None:
        """Ends a generation's query and waits for it; nothing to do if it does not run."""
        with self._changed:
            self._drop(generation)
            self._changed.notify_all()  # whoever still waits for it to start
            if not self._send(command("stop", generation=generation)):
                return  # without a child no query runs and no producer is open
            self._stopping.add(generation)
            self._unreleased.add(generation)
            stopped = self._changed.wait_for(lambda: generation not in self._stopping, timeout_s)
        if not stopped:
            raise EngineError(f"Generation {generation} did not stop within {timeout_s:g} s.")

    def restart(self, generation: int) -> None:
        """Ends a query that stands still and starts it again; with all of Spark, if it cannot be ended.

        It stays wanted all the while: if the new start fails it is retried, and whoever stops it meanwhile prevents it.
        """
        with self._changed:
            wanted = self._wanted.get(generation)
            if wanted is None:
                return
            wanted.cancel_retry()
            if not self._send(command("stop", generation=generation)):
                return  # the next child is told to start it
            self._stopping.add(generation)
            stopped = self._changed.wait_for(lambda: generation not in self._stopping, HUNG_S)
            if stopped and self._is_wanted(wanted):
                self._tell_to_start(wanted)
            child = self._child
        if not stopped and child is not None:
            child.end(0)  # the next one is told to start all that is wanted

    def wait_released(self, generation: int, timeout_s: float = RELEASE_S + 5) -> bool:
        """Waits until a stopped generation's producer is closed, so that its changelog may be deleted."""
        with self._changed:
            return self._changed.wait_for(lambda: generation not in self._unreleased, timeout_s)

    def close(self, timeout_s: float = 10) -> None:
        """Ends the child process, by force if it does not end in time."""
        self._closing.set()
        with self._changed:
            for generation in list(self._wanted):
                self._drop(generation)
            child = self._child
            self._changed.notify_all()
        if child:
            child.end(timeout_s)
        if self._keeper.is_alive():
            self._keeper.join()

    def __enter__(self) -> Engine:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _free_slots(self) -> int | None:
        if self._ready is None:
            return None
        shuffle = self._ready.shuffle_partitions
        return self._ready.slots - sum(wanted.slots(shuffle) for wanted in self._wanted.values() if wanted.starts)

    def _await_slots(self, wanted: _Wanted) -> None:
        """Returns when there are enough slots, or when it is no longer wanted; raises if none are to come."""
        while self._is_wanted(wanted):
            free = self._free_slots()
            if self._ready is None or free is None:
                raise EngineError(f"Spark ended before generation {wanted.spec.generation} had slots to start in.")
            needed = wanted.slots(self._ready.shuffle_partitions)
            if needed <= free:
                return
            if (left := self._arrivals_end - time.monotonic()) <= 0:
                raise NotEnoughSlotsError(needed, free)
            self._changed.wait(left)

    def _is_wanted(self, wanted: _Wanted) -> bool:
        return self._wanted.get(wanted.spec.generation) is wanted

    def _tell_to_start(self, wanted: _Wanted) -> None:
        wanted.cancel_retry()
        if self._is_wanted(wanted):
            wanted.starts += 1
            self._send(command("start", spec=to_wire(wanted.spec)))

    def _drop(self, generation: int) -> None:
        if wanted := self._wanted.pop(generation, None):
            wanted.cancel_retry()

    def _send(self, line: bytes) -> bool:
        """Tells the child; false if there is none to tell. The next one is told all that is wanted."""
        return self._ready is not None and self._child is not None and self._child.send(line)

    def _keep_alive(self) -> None:
        delays = self._delays()
        while not self._closing.is_set():
            self._healthy, begin = False, time.monotonic()
            died = self._live_once()
            with self._changed:
                self._death = died
                self._forget_child()
                self._changed.notify_all()
            if self._closing.is_set():
                return
            self._tell(died)
            if self._healthy or time.monotonic() - begin > HEALTHY_S:
                delays = self._delays()
            self._closing.wait(next(delays))

    def _live_once(self) -> Died:
        """One child's life, from start to end."""
        try:
            self._child = child = Child(self._settings, self._program)
        except (OSError, EvertableError) as error:
            return Died(str(error))
        if self._closing.is_set():
            child.end(0)
        for event in child.events():
            with self._changed:
                self._take(event)
                self._changed.notify_all()
            self._tell(event)
        return child.died()

    def _forget_child(self) -> None:
        """With the process, its queries and producers are gone."""
        self._ready = None
        self._stopping.clear()
        self._unreleased.clear()

    def _tell(self, event: EngineEvent) -> None:
        try:
            self._listener(event)
        except Exception:  # a listener's fault must not end the thread that keeps the engine alive
            log.exception("A listener failed on %s", event)

    def _take(self, event: EngineEvent) -> None:
        match event:
            case Ready():
                self._ready = event
                self._arrivals_end = time.monotonic() + self._arrival_s
                for each in self._wanted.values():
                    if each.starts:
                        self._tell_to_start(each)
            case TaskSlots(slots) if self._ready:
                self._ready = replace(self._ready, slots=slots)
                self._arrivals_end = time.monotonic() + self._arrival_s
                self._try_those_that_lack_slots()
            case Started(generation):
                if wanted := self._wanted.get(generation):
                    wanted.started, wanted.commits = event, 0
            case EpochCommitted(generation):
                if (wanted := self._wanted.get(generation)) and wanted.made_progress(event):
                    self._healthy, wanted.delays = True, self._delays()
            case Failed(generation):
                if wanted := self._wanted.get(generation):
                    self._take_failure(wanted, event)
            case Stopped(generation):
                self._stopping.discard(generation)
                self._try_those_that_lack_slots()
            case Released(generation):
                self._unreleased.discard(generation)

    def _take_failure(self, wanted: _Wanted, failure: Failed) -> None:
        wanted.failed = failure
        if not (wanted.started and failure.retriable):
            return
        wanted.timer = threading.Timer(next(wanted.delays), self._start_again, (wanted,))
        wanted.timer.daemon = True
        wanted.timer.start()

    def _start_again(self, wanted: _Wanted) -> None:
        with self._changed:
            self._tell_to_start(wanted)

    def _try_those_that_lack_slots(self) -> None:
        """Not when their time has come, but now: there may be enough slots."""
        for wanted in self._wanted.values():
            if wanted.lacks_slots:
                self._tell_to_start(wanted)


def _nobody(_: EngineEvent) -> None:
    """Listens to nothing."""
