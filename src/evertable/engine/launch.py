"""One run of the engine's child process: how it is started, its pipes, and how it ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from evertable.config.models import Engine as EngineConfig
from evertable.engine import scratch
from evertable.engine.protocol import Died, EngineEvent, command, decode
from evertable.install.environment import child_environment
from evertable.install.jars import jar_paths
from evertable.install.java import find_java
from evertable.install.operator import operator_jar

PROGRAM = (sys.executable, "-m", "evertable.engine.child")


@dataclass(frozen=True)
class EngineSettings:
    """How the engine is run.

    ``log`` is the file for Spark's own log, None for this process's standard error. ``environment`` names variables
    that Spark inherits in addition to those that it always needs.
    """

    master: str = "local[*]"
    spark: Mapping[str, str] = field(default_factory=dict)
    log: Path | None = None
    log_level: str = "WARN"
    environment: tuple[str, ...] = ()

    @classmethod
    def of(cls, config: EngineConfig, log: Path) -> EngineSettings:
        spark = {"spark.sql.shuffle.partitions": str(config.readers), **config.spark.reveal()}
        return cls(config.master, spark, log, environment=config.environment)


class Child:
    """A started child process; the constructor raises if it cannot be started."""

    def __init__(self, settings: EngineSettings, program: Sequence[str] = PROGRAM) -> None:
        jars = [operator_jar(), *jar_paths("engine")]
        java = find_java()
        self._log = settings.log
        spark_log = settings.log.open("ab") if settings.log else None
        self._scratch, held = scratch.create()  # deleted by us: a killed JVM leaves its files
        java_options = f"{os.environ.get('JDK_JAVA_OPTIONS', '')} -Djava.io.tmpdir={self._scratch}"
        own = {"JAVA_HOME": str(java.home), "JDK_JAVA_OPTIONS": java_options.strip(), "TMPDIR": str(self._scratch)}
        try:
            self._process = subprocess.Popen(
                [*program, "--scratch", self._scratch],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=spark_log,
                env=child_environment(settings.environment, **own),
                start_new_session=True,  # Ctrl-C is the parent's to handle; the child ends with its input
                pass_fds=[held],
            )
        except OSError:
            scratch.remove(self._scratch)
            raise
        finally:
            os.close(held)  # from now on the child holds the lock
            if spark_log:
                spark_log.close()
        spark = {"spark.local.dir": str(self._scratch), **settings.spark}
        opening = {"master": settings.master, "jars": [str(jar) for jar in jars], "spark": spark}
        self.send(command("open", log_level=settings.log_level, **opening))

    @property
    def pid(self) -> int | None:
        """The process's id while it runs."""
        return self._process.pid if self._process.poll() is None else None

    def send(self, line: bytes) -> bool:
        """Writes a command; returns false if the process has ended."""
        assert self._process.stdin is not None  # noqa: S101 - opened above
        try:
            self._process.stdin.write(line)
            self._process.stdin.flush()
        except (BrokenPipeError, ValueError):
            return False
        return True

    def events(self) -> Iterator[EngineEvent]:
        """Yields its events until it ends."""
        assert self._process.stdout is not None  # noqa: S101 - opened above
        with self._process.stdout as lines:
            for line in lines:
                with suppress(ValueError):  # a library printed something; the log has details
                    yield decode(line)

    def end(self, timeout_s: float) -> None:
        """Ends it by closing its input, and kills it if that takes too long."""
        self._close_input()
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def wait_ended(self) -> Died:
        """Waits until it ends, then kills its JVM, which would wait without end if it had only just started."""
        code = self._process.wait()
        self._close_input()
        with suppress(ProcessLookupError):  # the usual case: both are gone
            os.killpg(self._process.pid, signal.SIGKILL)
        scratch.remove(self._scratch)
        return Died(f"its process ended with code {code}{self._last_error()}")

    def _close_input(self) -> None:
        assert self._process.stdin is not None  # noqa: S101 - opened above
        with suppress(BrokenPipeError):  # it has ended already
            self._process.stdin.close()

    def _last_error(self) -> str:
        """Returns the last line of the log that names an error, or nothing."""
        if self._log is None or not self._log.exists():
            return ""
        with self._log.open("rb") as tail:
            tail.seek(max(0, self._log.stat().st_size - 10_000))
            lines = tail.read().decode(errors="replace").splitlines()
        errors = [line.strip() for line in lines if "rror" in line or "xception" in line]
        return f" ({errors[-1][:300]})" if errors else ""
