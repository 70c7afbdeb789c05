"""Samples of a soak: memory, threads and files of each process, topics, folders, and the heap."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from benchmarks.machine import children
from confluent_kafka.admin import AdminClient

from evertable.install.java import find_java

MIB = 1 << 20
PAGE = 4096
Sample = dict[str, float]

_HEAP = re.compile(r"Pause Full.*?\d+M->(\d+)M\(\d+M\)")


def processes(serve: int, broker: int) -> dict[str, int]:
    """Finds the processes by name; Spark's JVM is a child of the driver program, which is a child of the server."""
    found = {"serve": serve, "broker": broker}
    for name, owner, sign in (
        ("driver", "serve", b"evertable.engine.child"),
        ("spark", "driver", b"org.apache.spark."),
    ):
        for pid in children(found.get(owner, 0)):
            with suppress(OSError):  # it has just ended
                if sign in Path(f"/proc/{pid}/cmdline").read_bytes():
                    found[name] = pid
    return found


def of_process(pid: int) -> Iterator[tuple[str, float]]:
    """Yields the figures of a process; none if it has ended."""
    with suppress(OSError):
        status = Path(f"/proc/{pid}/status").read_text()
        yield "rss_mib", int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE / MIB
        yield "threads", int(re.findall(r"Threads:\s+(\d+)", status)[0])
        targets = list(_open_files(pid))
        yield "files", len(targets)
        yield "sockets", sum(target.startswith("socket:") for target in targets)


def _open_files(pid: int) -> Iterator[str]:
    """Yields the targets of all file descriptors."""
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        try:
            yield str(descriptor.readlink())
        except OSError:  # closed meanwhile
            continue


def of_folder(folder: Path) -> Iterator[tuple[str, float]]:
    """Yields the size and number of the files in a folder."""
    size = count = 0
    for parent, _, names in os.walk(folder):  # skips folders that are deleted meanwhile
        for name in names:
            with suppress(OSError):
                size, count = size + Path(parent, name).stat().st_size, count + 1
    yield "mib", size / MIB
    yield "files", count


def heap_after_gc(log: Path) -> float | None:
    """Returns the size of Spark's heap after the last full collection, in MiB; after others it holds garbage."""
    left = _HEAP.findall(log.read_text(errors="replace")) if log.exists() else []
    return float(left[-1]) if left else None


class Sampler:
    """Takes samples of everything."""

    def __init__(self, serve: int, broker: int, bootstrap: str, folders: Mapping[str, Path], gc_log: Path) -> None:
        self._serve, self._broker = serve, broker
        self._admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        self._folders = folders
        self._gc_log = gc_log

    def collect(self) -> None:
        """Runs a full collection of Spark's heap; requires a JDK."""
        spark = processes(self._serve, self._broker).get("spark")
        command = [str(find_java().home / "bin" / "jcmd"), str(spark), "GC.run"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, timeout=60)

    def sample(self) -> Sample:
        sample: Sample = {}
        for name, pid in processes(self._serve, self._broker).items():
            sample |= {f"{name}_{what}": value for what, value in of_process(pid)}
        for name, folder in self._folders.items():
            sample |= {f"{name}_{what}": value for what, value in of_folder(folder)}
        sample["generations"] = sum(1 for _ in self._folders["checkpoints"].glob("*/g*"))
        sample["topics"] = len(self._admin.list_topics(timeout=30).topics)
        if (heap := heap_after_gc(self._gc_log)) is not None:
            sample["spark_heap_mib"] = heap
        return sample
