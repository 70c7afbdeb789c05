"""The engine as the rest of Evertable sees it: a child process that is kept alive, and no Spark types."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, BinaryIO

from evertable.engine.protocol import Died, Event, Failed, Progress, Ready, Released, Started, Stopped, command, decode
from evertable.engine.retry import Delays, growing
from evertable.engine.spec import GenerationSpec, to_wire
from evertable.errors import EngineError, NotEnoughSlotsError, QueryFailedError
from evertable.runtime.jars import jar_paths
from evertable.runtime.java import find_java
from evertable.runtime.operator import operator_jar

log = logging.getLogger(__name__)

Listener = Callable[[Event], None]
"""Called on the engine's own thread: it must be quick, and must not call the engine, which answers by that thread."""


@dataclass(frozen=True)
class EngineSettings:
    """How the engine is run; ``log`` is where Spark's own log goes, None for this process's standard error."""

    master: str = "local[*]"
    spark: Mapping[str, str] = field(default_factory=dict)
    log: Path | None = None
    log_level: str = "WARN"


@dataclass
class _Wanted:
    """A generation that should be running."""

    spec: GenerationSpec
    delays: Iterator[float]
    outcome: Started | Failed | None = None
    ever_started: bool = False
    timer: threading.Timer | None = None

    def cancel_retry(self) -> None:
        if self.timer:
            self.timer.cancel()


class Engine:
    """Starts and stops generations in a child process that is started again whenever it dies.

    A wanted generation comes back by itself: after the child's death, and after a failure that may heal.
    Every event is passed to the listener, in order, on one thread.
    """

    def __init__(self, settings: EngineSettings, listener: Listener | None = None, delays: Delays = growing) -> None:
        self._settings = settings
        self._listener = listener or _nobody
        self._delays = delays
        self._changed = threading.Condition()
        self._wanted: dict[int, _Wanted] = {}
        self._stopping: set[int] = set()
        self._unreleased: set[int] = set()
        self._ready: Ready | None = None
        self._deaths = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._closing = threading.Event()
        self._keeper = threading.Thread(target=self._keep_alive, name="engine-keeper", daemon=True)

    def open(self, timeout_s: float = 120) -> Ready:
        """Starts the child process and waits until Spark answers."""
        find_java(), jar_paths("connector"), operator_jar()  # what is missing is said here, not on the keeper's thread
        self._keeper.start()
        with self._changed:
            self._changed.wait_for(lambda: self._ready or self._deaths, timeout_s)
            if self._ready:
                return self._ready
        self.close()
        raise EngineError("Spark did not start.", f"See its log: {self._settings.log or 'on standard error'}.")

    def listen(self, listener: Listener | None) -> None:
        """Passes every further event to this listener instead of the one before; None for nobody."""
        self._listener = listener or _nobody

    @property
    def pid(self) -> int | None:
        """The child process's id while it runs."""
        process = self._process
        return process.pid if process and process.poll() is None else None

    @property
    def running(self) -> frozenset[int]:
        """The generations that should be running."""
        with self._changed:
            return frozenset(self._wanted)

    def free_slots(self) -> int | None:
        """Task slots that no wanted generation holds; None where a cluster decides."""
        with self._changed:
            return self._free_slots()

    def start(self, spec: GenerationSpec, timeout_s: float = 60) -> Started:
        """Starts a generation's query; raises if there are too few slots or Spark refuses the plan."""
        with self._changed:
            if spec.generation in self._wanted:
                raise EngineError(f"Generation {spec.generation} is running already.")
            self._changed.wait_for(lambda: self._ready or self._closing.is_set(), timeout_s)  # it may be coming back
            if self._ready is None:
                raise EngineError(f"Spark is not there to start generation {spec.generation}.")
            free, needed = self._free_slots(), spec.slots(self._ready.shuffle_partitions)
            if free is not None and needed > free:
                raise NotEnoughSlotsError(needed, free)
            wanted = self._wanted[spec.generation] = _Wanted(spec, self._delays())
            self._send(command("start", spec=to_wire(spec)))
            self._changed.wait_for(lambda: wanted.outcome is not None or self._closing.is_set(), timeout_s)
            if isinstance(wanted.outcome, Started):
                return wanted.outcome
            self._drop(spec.generation)
        if isinstance(wanted.outcome, Failed):
            raise QueryFailedError(f"Generation {spec.generation} did not start: {wanted.outcome.message}")
        self.stop(spec.generation)
        raise EngineError(f"Generation {spec.generation} did not start within {timeout_s:g} s.")

    def stop(self, generation: int, timeout_s: float = 30) -> None:
        """Ends a generation's query and waits for it; nothing to do if it does not run."""
        with self._changed:
            self._drop(generation)
            self._stopping.add(generation)
            self._unreleased.add(generation)
            self._send(command("stop", generation=generation))
            stopped = self._changed.wait_for(lambda: generation not in self._stopping, timeout_s)
        if not stopped:
            raise EngineError(f"Generation {generation} did not stop within {timeout_s:g} s.")

    def wait_released(self, generation: int, timeout_s: float = 30) -> bool:
        """Waits until a stopped generation's producer is closed, so that its changelog may be deleted."""
        with self._changed:
            return self._changed.wait_for(lambda: generation not in self._unreleased, timeout_s)

    def close(self, timeout_s: float = 10) -> None:
        """Ends the child process, by force if it does not end in time."""
        self._closing.set()
        with self._changed:
            for generation in list(self._wanted):
                self._drop(generation)
            process = self._process
            self._changed.notify_all()
        if process:
            _close_input(process)
            try:
                process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if self._keeper.is_alive():
            self._keeper.join(timeout_s)

    def __enter__(self) -> Engine:
        self.open()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _free_slots(self) -> int | None:
        if self._ready is None or self._ready.slots is None:
            return None
        shuffle = self._ready.shuffle_partitions
        return self._ready.slots - sum(wanted.spec.slots(shuffle) for wanted in self._wanted.values())

    def _drop(self, generation: int) -> None:
        wanted = self._wanted.pop(generation, None)
        if wanted:
            wanted.cancel_retry()

    def _send(self, line: bytes) -> None:
        process = self._process
        if process is None or process.stdin is None or self._ready is None:
            return  # the next child is told all that is wanted
        try:
            process.stdin.write(line)
            process.stdin.flush()
        except (BrokenPipeError, ValueError):
            return  # it just died; the keeper sees to it

    def _keep_alive(self) -> None:
        delays = self._delays()
        while not self._closing.is_set():
            process = self._spawn()
            if process.stdout is not None:
                with process.stdout as events:
                    if self._follow(events):
                        delays = self._delays()
            code = process.wait()
            _close_input(process)
            with self._changed:
                self._ready = None
                self._deaths += 1
                self._stopping.clear()  # with the process, its queries and producers are gone
                self._unreleased.clear()
                self._changed.notify_all()
            if self._closing.is_set():
                return
            self._tell(Died(code))
            self._closing.wait(next(delays))

    def _spawn(self) -> subprocess.Popen[bytes]:
        settings = self._settings
        jars = [operator_jar(), *jar_paths("connector")]  # ours first: it stands in for a class of the connector's
        log: BinaryIO | None = settings.log.open("ab") if settings.log else None
        try:
            process = subprocess.Popen(
                [sys.executable, "-m", "evertable.engine.child"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                env={**os.environ, "JAVA_HOME": str(find_java().home)},
                start_new_session=True,  # Ctrl-C is the parent's to handle; the child ends with its input
            )
        finally:
            if log:
                log.close()
        opening = {"master": settings.master, "jars": [str(jar) for jar in jars], "spark": dict(settings.spark)}
        if process.stdin is not None:
            process.stdin.write(command("open", log_level=settings.log_level, **opening))
            process.stdin.flush()
        self._process = process
        if self._closing.is_set():
            _close_input(process)
        return process

    def _follow(self, events: IO[bytes]) -> bool:
        """Passes on events until the child ends; true if it ever got ready."""
        ready = False
        for line in events:
            try:
                event = decode(line)
            except ValueError:
                continue  # something wrote to the child's output that is no event; its log tells more
            ready = ready or isinstance(event, Ready)
            with self._changed:
                self._take(event)
                self._changed.notify_all()
            self._tell(event)
        return ready

    def _tell(self, event: Event) -> None:
        try:
            self._listener(event)
        except Exception:  # a listener's fault must not end the thread that keeps the engine alive
            log.exception("A listener failed on %s", event)

    def _take(self, event: Event) -> None:
        match event:
            case Ready():
                self._ready = event
                for each in self._wanted.values():
                    each.cancel_retry()
                    self._send(command("start", spec=to_wire(each.spec)))
            case Started(generation):
                if wanted := self._wanted.get(generation):
                    wanted.outcome, wanted.ever_started = event, True
            case Progress(generation):
                if wanted := self._wanted.get(generation):
                    wanted.delays = self._delays()
            case Failed(generation):
                if wanted := self._wanted.get(generation):
                    self._retry(wanted, event)
            case Stopped(generation):
                self._stopping.discard(generation)
            case Released(generation):
                self._unreleased.discard(generation)

    def _retry(self, wanted: _Wanted, failure: Failed) -> None:
        wanted.outcome = failure
        if not (wanted.ever_started and failure.retriable):
            return
        line = command("start", spec=to_wire(wanted.spec))
        wanted.timer = threading.Timer(next(wanted.delays), self._start_again, (wanted, line))
        wanted.timer.daemon = True
        wanted.timer.start()

    def _start_again(self, wanted: _Wanted, line: bytes) -> None:
        with self._changed:
            if self._wanted.get(wanted.spec.generation) is wanted:
                self._send(line)


def _nobody(_: Event) -> None:
    """Listens to nothing."""


def _close_input(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None:
        with suppress(BrokenPipeError):  # it is gone already
            process.stdin.close()
