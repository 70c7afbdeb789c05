"""The engine for the rest of Evertable: a supervised child process, without any Spark types."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from evertable.backoff import Delays, exponential
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

HEALTHY_S = 60.0  # a child that ran this long, or committed an epoch, did not fail at its start
ARRIVAL_S = 30.0  # how long to wait for more executors after some of a cluster's came or went
HUNG_S = 10.0  # how long a stalled query may take to stop before Spark is killed

EventHandler = Callable[[EngineEvent], None]
"""Called on the engine's own thread: it must return quickly, and must not call the engine, which needs that thread."""


@dataclass
class _Desired:
    """A generation that should be running."""

    spec: GenerationSpec
    delays: Iterator[float]
    starts: int = 0  # start commands sent; it holds slots from the first one on
    started: Started | None = None
    failed: Failed | None = None
    committed: EpochCommitted | None = None  # the last epoch
    commits: int = 0  # since the last start
    timer: threading.Timer | None = None

    def commit(self, epoch: EpochCommitted) -> bool:
        """Notes a commit, and returns whether it shows a healthy query: the first may come before any read."""
        before, self.committed, self.commits = self.committed, epoch, self.commits + 1
        return self.commits > 1 or not before or (before.left, before.right) != (epoch.left, epoch.right)

    @property
    def lacks_slots(self) -> bool:
        """Whether it waits for a retry because there were too few slots."""
        return (
            self.timer is not None
            and self.failed is not None
            and self.failed.condition == NotEnoughSlotsError.condition
        )

    def cancel_retry(self) -> None:
        if self.timer:
            self.timer.cancel()
            self.timer = None


class Engine:
    """Starts and stops generations in a child process that is restarted whenever it dies.

    A generation that was started is restarted after the child's death and after a temporary failure, until it is
    stopped. Every event is passed to the event handler, in order, on one thread.
    """

    def __init__(
        self,
        settings: EngineSettings,
        on_event: EventHandler | None = None,
        delays: Delays = exponential,
        program: Sequence[str] = PROGRAM,
    ) -> None:
        self._settings = settings
        self._on_event = on_event or _ignore
        self._delays = delays
        self._program = program
        self._changed = threading.Condition()
        self._desired: dict[int, _Desired] = {}
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
        """Starts the child process and waits until Spark is ready; raises as soon as that has failed."""
        # What is missing is reported here, not on the keeper's thread.
        find_java(), jar_paths("engine"), operator_jar()
        self._keeper.start()
        with self._changed:
            self._changed.wait_for(lambda: self._ready or self._death or self._closing.is_set(), timeout_s)
            ready, death = self._ready, self._death
        if ready:
            return ready
        closed = "it was closed while it was starting" if self._closing.is_set() else ""
        self.close()
        why = death.reason if death else closed or f"it did not respond within {timeout_s:g} s"
        raise EngineError(f"Spark did not start: {why}.", f"Read its log: {self._settings.log or 'on standard error'}.")

    def listen(self, on_event: EventHandler | None) -> None:
        """Passes all further events to this handler instead of the previous one; None ignores them."""
        self._on_event = on_event or _ignore

    @property
    def pid(self) -> int | None:
        """The child process's id while it runs."""
        return self._child.pid if self._child else None

    @property
    def running(self) -> frozenset[int]:
        """The generations that should be running."""
        with self._changed:
            return frozenset(self._desired)

    def free_slots(self) -> int | None:
        """Counts the task slots that no generation holds; None while Spark is not running."""
        with self._changed:
            return self._free_slots()

    def start(self, spec: GenerationSpec, timeout_s: float = 60) -> Started:
        """Starts a generation's query; raises if there are too few slots or Spark rejects the plan.

        On a cluster, executors connect some time after its start or after a loss; until then it waits for slots.
        """
        number = spec.generation
        with self._changed:
            self._changed.wait_for(lambda: self._ready or self._closing.is_set(), timeout_s)  # it may be restarting
            if self._ready is None:
                raise EngineError(f"Generation {number} did not start: Spark is not running.")
            if number in self._desired:
                raise EngineError(f"Generation {number} is running already.")
            desired = self._desired[number] = _Desired(spec, self._delays())
            try:
                self._await_slots(desired)
            except EngineError:
                self._drop(number)
                raise
            self._send_start(desired)
            self._changed.wait_for(
                lambda: desired.started or desired.failed or not self._is_desired(desired), timeout_s
            )
            if desired.started:
                return desired.started
            if not self._is_desired(desired):
                raise EngineError(f"Generation {number} was stopped before it had started.")
            self._drop(number)
        if desired.failed:
            failed = desired.failed
            what = f"Generation {number} did not start: {failed.message}"
            raise QueryFailedError(what, reason=failed.condition, retriable=failed.retriable)
        self.stop(number)
        raise EngineError(f"Generation {number} did not start within {timeout_s:g} s.")

    def stop(self, generation: int, timeout_s: float = 30) -> None:
        """Ends a generation's query and waits for its end; does nothing if it does not run."""
        with self._changed:
            self._drop(generation)
            self._changed.notify_all()  # a start that still waits
            if not self._send(command("stop", generation=generation)):
                return  # without a child, no query runs and no producer is open
            self._stopping.add(generation)
            self._unreleased.add(generation)
            stopped = self._changed.wait_for(lambda: generation not in self._stopping, timeout_s)
        if not stopped:
            raise EngineError(f"Generation {generation} did not stop within {timeout_s:g} s.")

    def restart(self, generation: int) -> None:
        """Restarts a stalled query, or all of Spark if the query does not stop.

        If the new start fails it is retried; ``stop`` during the restart prevents the start.
        """
        with self._changed:
            desired = self._desired.get(generation)
            if desired is None:
                return
            desired.cancel_retry()
            if not self._send(command("stop", generation=generation)):
                return  # the next child will start it
            self._stopping.add(generation)
            stopped = self._changed.wait_for(lambda: generation not in self._stopping, HUNG_S)
            if stopped and self._is_desired(desired):
                self._send_start(desired)
            child = self._child
        if not stopped and child is not None:
            child.end(0)  # the next one starts all desired generations

    def wait_released(self, generation: int, timeout_s: float = RELEASE_S + 5) -> bool:
        """Waits until a stopped generation's producer is closed, so that its changelog may be deleted."""
        with self._changed:
            return self._changed.wait_for(lambda: generation not in self._unreleased, timeout_s)

    def close(self, timeout_s: float = 10) -> None:
        """Ends the child process, and kills it if that takes too long."""
        self._closing.set()
        with self._changed:
            for generation in list(self._desired):
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
        held = (desired.spec.slots(shuffle) for desired in self._desired.values() if desired.starts)
        return self._ready.slots - sum(held)

    def _await_slots(self, desired: _Desired) -> None:
        """Waits until there are enough slots or it is no longer desired; raises if no more can come."""
        while self._is_desired(desired):
            free = self._free_slots()
            if self._ready is None or free is None:
                raise EngineError(
                    f"Generation {desired.spec.generation} did not start: Spark ended while it waited for slots."
                )
            needed = desired.spec.slots(self._ready.shuffle_partitions)
            if needed <= free:
                return
            if (left := self._arrivals_end - time.monotonic()) <= 0:
                raise NotEnoughSlotsError(needed, free)
            self._changed.wait(left)

    def _is_desired(self, desired: _Desired) -> bool:
        return self._desired.get(desired.spec.generation) is desired

    def _send_start(self, desired: _Desired) -> None:
        desired.cancel_retry()
        if self._is_desired(desired):
            desired.starts += 1
            self._send(command("start", spec=to_wire(desired.spec)))

    def _drop(self, generation: int) -> None:
        if desired := self._desired.pop(generation, None):
            desired.cancel_retry()

    def _send(self, line: bytes) -> bool:
        """Sends a command to the child; false if there is none. The next one will start all desired generations."""
        return self._ready is not None and self._child is not None and self._child.send(line)

    def _keep_alive(self) -> None:
        delays = self._delays()
        while not self._closing.is_set():
            self._healthy, begin = False, time.monotonic()
            died = self._run_child()
            with self._changed:
                self._death = died
                self._forget_child()
                self._changed.notify_all()
            if self._closing.is_set():
                return
            self._notify(died)
            if self._healthy or time.monotonic() - begin > HEALTHY_S:
                delays = self._delays()
            self._closing.wait(next(delays))

    def _run_child(self) -> Died:
        """Runs one child, from start to end."""
        try:
            self._child = child = Child(self._settings, self._program)
        except (OSError, EvertableError) as error:
            return Died(str(error))
        if self._closing.is_set():
            child.end(0)
        for event in child.events():
            with self._changed:
                self._apply(event)
                self._changed.notify_all()
            self._notify(event)
        return child.wait_ended()

    def _forget_child(self) -> None:
        """Forgets the queries and producers that ended with the child."""
        self._ready = None
        self._stopping.clear()
        self._unreleased.clear()

    def _notify(self, event: EngineEvent) -> None:
        try:
            self._on_event(event)
        except Exception:  # a faulty handler must not end the thread that keeps the engine alive
            log.exception("The event handler failed on %s", event)

    def _apply(self, event: EngineEvent) -> None:
        match event:
            case Ready():
                self._ready = event
                self._arrivals_end = time.monotonic() + self._arrival_s
                for each in self._desired.values():
                    if each.starts:
                        self._send_start(each)
            case TaskSlots(slots) if self._ready:
                self._ready = replace(self._ready, slots=slots)
                self._arrivals_end = time.monotonic() + self._arrival_s
                self._retry_those_lacking_slots()
            case Started(generation):
                if desired := self._desired.get(generation):
                    desired.started, desired.commits = event, 0
            case EpochCommitted(generation):
                if (desired := self._desired.get(generation)) and desired.commit(event):
                    self._healthy, desired.delays = True, self._delays()
            case Failed(generation):
                if desired := self._desired.get(generation):
                    self._schedule_retry(desired, event)
            case Stopped(generation):
                self._stopping.discard(generation)
                self._retry_those_lacking_slots()
            case Released(generation):
                self._unreleased.discard(generation)

    def _schedule_retry(self, desired: _Desired, failure: Failed) -> None:
        desired.failed = failure
        if not (desired.started and failure.retriable):
            return
        desired.timer = threading.Timer(next(desired.delays), self._retry, (desired,))
        desired.timer.daemon = True
        desired.timer.start()

    def _retry(self, desired: _Desired) -> None:
        with self._changed:
            self._send_start(desired)

    def _retry_those_lacking_slots(self) -> None:
        """Retries at once instead of after the delay: there may be enough slots now."""
        for desired in self._desired.values():
            if desired.lacks_slots:
                self._send_start(desired)


def _ignore(_: EngineEvent) -> None:
    """Ignores an event."""
