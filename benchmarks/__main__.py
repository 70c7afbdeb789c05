"""Runs all benchmarks one after the other and writes a report: ``scripts/bench``.

The output of each part is saved beside the report. Nothing else should run on the machine meanwhile.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks import report
from benchmarks.figures import VARIABLE

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Part:
    name: str
    about: str
    minutes: int
    quick: tuple[str, ...] = ()
    """Options of a quick check that the part works, whose figures mean nothing."""
    options: tuple[str, ...] = ()


PARTS = (
    Part(
        "peers",
        "Evertable and Deephaven in turns",
        75,
        ("--rounds", "1", "--seconds", "5", "--accounts", "50000", "--growth"),
    ),
    Part("outputs", "Evertable, Pathway and Flink at an output topic", 10, ("--rounds", "1", "--accounts", "50000")),
    Part("anatomy", "where the milliseconds go", 6, ("--messages", "100", "--accounts", "50000")),
    Part("engine", "catch-up and hot keys at the changelog", 8, ("--accounts", "50000"), ("--messages", "0")),
    Part("swaps", "swaps, rollbacks, restarts", 5),
    Part("viewers", "many viewers, and flips", 5),
    Part("tables", "folding, memory and pages", 2),
    Part("demo", "from the command to rows", 1),
)


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench", description="All benchmarks, and a report.")
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(f"{p.name}: {p.about}" for p in PARTS))
    parser.add_argument("--quick", action="store_true", help="small topics and one round, as a check")
    parser.add_argument("--results", type=Path, default=RESULTS, help="the folder for the report")
    wanted = parser.parse_args()
    if unknown := set(wanted.parts) - {part.name for part in PARTS}:
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    wanted.results.mkdir(parents=True, exist_ok=True)
    for part in PARTS:
        if not wanted.parts or part.name in wanted.parts:
            run(part, wanted.results, wanted.quick)
    print(f"The report: {report.write(wanted.results)}")


def run(part: Part, results: Path, quick: bool) -> None:
    """Runs a part, and saves its output and its figures instead of those of an earlier run."""
    print(f"\n## {part.name}: {part.about}, about {part.minutes} minutes", flush=True)
    figures = results / f"{part.name}.jsonl"
    figures.unlink(missing_ok=True)
    command = [sys.executable, "-m", f"benchmarks.{part.name}", *part.options, *(part.quick if quick else ())]
    begin = time.monotonic()
    environment = {**os.environ, VARIABLE: str(figures)}
    with (results / f"{part.name}.txt").open("w") as saved:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        for line in process.stdout or ():
            print(line, end="", flush=True)
            saved.write(line)
        if process.wait() != 0:
            raise SystemExit(f"{part.name} ended with {process.returncode}: see above.")
    print(f"({part.name} took {(time.monotonic() - begin) / 60:.1f} minutes)")


if __name__ == "__main__":
    main()
