"""What a figure was measured on."""

from __future__ import annotations

import os
import platform
import time
from contextlib import suppress
from pathlib import Path

import pyspark

from evertable.install.java import find_java

ENDED = (FileNotFoundError, ProcessLookupError)
"""What is raised for a process or thread that is no more."""


def description() -> str:
    model = next(
        (line.split(":")[1].strip() for line in Path("/proc/cpuinfo").read_text().splitlines() if "model name" in line),
        platform.processor(),
    )
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = f"Python {platform.python_version()}, Java {find_java().major}, Spark {pyspark.__version__}"
    return f"{os.cpu_count()} × {model}, {memory:.0f} GiB, {platform.system()} {platform.release()}; {versions}"


def cpu_seconds(pid: int) -> float:
    """Processor time that a process has used; none if it has just ended."""
    with suppress(*ENDED):
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


def children(pid: int) -> list[int]:
    """The processes below a process."""
    found = []
    with suppress(*ENDED):
        for task in Path(f"/proc/{pid}/task").iterdir():
            with suppress(*ENDED):
                found += [int(child) for child in (task / "children").read_text().split()]
    return found + [grandchild for child in found for grandchild in children(child)]


def tree_cpu_seconds(pid: int) -> float:
    return sum(cpu_seconds(each) for each in [pid, *children(pid)])


class Spent:
    """The processor time of a process and those below it from now on, as cores that it kept busy."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._cpu, self._begin = tree_cpu_seconds(pid), time.perf_counter()

    @property
    def cores(self) -> float:
        return (tree_cpu_seconds(self._pid) - self._cpu) / (time.perf_counter() - self._begin)


def memory_mb(pid: int, field: str = "VmRSS") -> float:
    """What a process holds of memory now, or with ``VmHWM`` has held at most; none if it has just ended."""
    with suppress(*ENDED):
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith(field):
                return int(line.split()[1]) / 1024
    return 0.0


def tree_memory_mb(pid: int) -> float:
    return sum(memory_mb(each) for each in [pid, *children(pid)])
