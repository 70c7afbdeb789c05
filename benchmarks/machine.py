"""The machine, and the processor time and memory of its processes."""

from __future__ import annotations

import os
import platform
import time
from contextlib import suppress
from pathlib import Path

import pyspark

from evertable.install.java import find_java

ENDED = (FileNotFoundError, ProcessLookupError)
"""Raised for a process or thread that has ended."""


def description() -> str:
    model = next(
        (line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        platform.processor(),
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = f"Python {platform.python_version()}, Java {find_java().major}, Spark {pyspark.__version__}"
    return f"{os.cpu_count()} × {model}, {memory:.0f} GiB, {platform.system()} {platform.release()}; {versions}"


def cpu_seconds(pid: int) -> float:
    """Returns the processor time of a process, 0 if it has ended."""
    with suppress(*ENDED):
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def children(pid: int) -> list[int]:
    """Lists the processes that a process has started."""
    found: list[int] = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with suppress(*ENDED):
            found += map(int, path.read_text().split())
    return found


def descendants(pid: int) -> list[int]:
    return [each for child in children(pid) for each in (child, *descendants(child))]


def tree_cpu_seconds(pid: int) -> float:
    return sum(cpu_seconds(each) for each in [pid, *descendants(pid)])


class Spent:
    """The processor time of a process and its descendants from now on, as busy cores."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._cpu, self._begin = tree_cpu_seconds(pid), time.perf_counter()

    @property
    def cores(self) -> float:
        return (tree_cpu_seconds(self._pid) - self._cpu) / (time.perf_counter() - self._begin)


def memory_mb(pid: int, field: str = "VmRSS") -> float:
    """Returns a process's resident memory, or with ``VmHWM`` its maximum; 0 if it has ended."""
    with suppress(*ENDED):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(field):
                return int(line.split()[1]) / 1024
    return 0.0


def tree_memory_mb(pid: int) -> float:
    return sum(memory_mb(each) for each in [pid, *descendants(pid)])
