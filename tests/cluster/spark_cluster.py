"""A Spark standalone cluster on loopback: a master and workers, each in its own process group, which can be killed."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

import pyspark
from tests.waiting import wait_until

from evertable.install.java import find_java

HOST = "127.0.0.1"
HOME = Path(pyspark.__file__).parent
CORES = 32
"""The cores of each worker: more than the machine has, since tasks mostly wait."""


class Daemon:
    """One of Spark's daemons, and its log."""

    def __init__(self, name: str, folder: Path, arguments: Sequence[str]) -> None:
        self.log = folder / f"{name.rpartition('.')[2].lower()}-{len(list(folder.glob('*.log')))}.log"
        settings = {
            "SPARK_HOME": str(HOME),
            "JAVA_HOME": str(find_java().home),
            "SPARK_DAEMON_MEMORY": "256m",
            "SPARK_LOCAL_DIRS": str(folder),
            "SPARK_LOCAL_IP": HOST,
            "SPARK_NO_DAEMONIZE": "1",
        }
        with self.log.open("wb") as log:
            self._process = subprocess.Popen(
                [
                    HOME / "bin/spark-class",
                    f"org.apache.spark.deploy.{name}",
                    "--host",
                    HOST,
                    "--port",
                    "0",
                    *arguments,
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**os.environ, **settings},
                start_new_session=True,
            )

    def found(self, pattern: str) -> str | None:
        found = re.search(pattern, self.log.read_text(errors="replace"))
        return found[0] if found else None

    def wait_for(self, pattern: str) -> str:
        wait_until(lambda: self.found(pattern) or self._process.poll() is not None, f"{pattern} in {self.log}")
        found = self.found(pattern)
        assert found, self.log.read_text(errors="replace")
        return found

    def kill(self) -> None:
        """Kills the daemon and its executors with -9, as a power failure does."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


class SparkCluster:
    """A master and some workers; use as a context manager."""

    def __init__(self, folder: Path, workers: int = 2) -> None:
        self._folder = folder
        self._count = workers
        self.workers: list[Daemon] = []

    def __enter__(self) -> Self:
        self._master = Daemon("master.Master", self._folder, ["--webui-port", "0"])
        self.url = self._master.wait_for(rf"spark://{HOST}:\d+")
        for _ in range(self._count):
            self.add_worker()
        return self

    def add_worker(self) -> Daemon:
        """Starts one more worker; its executors follow."""
        work = self._folder / f"work-{len(list(self._folder.glob('work-*')))}"
        work.mkdir()
        size = ["--cores", str(CORES), "--memory", "1g", "--webui-port", "0", "--work-dir", str(work)]
        worker = Daemon("worker.Worker", self._folder, [*size, self.url])
        self.workers.append(worker)
        return worker

    def __exit__(self, *_: object) -> None:
        for daemon in (*self.workers, self._master):
            daemon.kill()
