"""``scripts/test --chaos``: one run, with progress on the terminal; the exit code is 0 if nothing went wrong."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from pathlib import Path

from tests.chaos.run import run
from tests.chaos.schedule import schedule
from tests.proxy import broker_behind_proxy

MINUTES = 9.0
"""How long faults last; the start and the comparison take about three more minutes."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/test --chaos", description="Runs an app under chaos.")
    parser.add_argument("--seed", type=int, default=None, help="decides what happens and when; a new one if not given")
    parser.add_argument("--minutes", type=float, default=MINUTES, help=f"minutes of faults, {MINUTES:g} if not given")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else time.time_ns() % 1_000_000
    acts = schedule(seed, options.minutes * 60)
    again = f"scripts/test --chaos --seed {seed} --minutes {options.minutes:g}"
    _report(f"Seed {seed}, {options.minutes:g} minutes. Repeat with: {again}\n\nThe schedule:")
    _report("\n".join(map(str, acts)) + "\n")
    folder = Path(tempfile.mkdtemp(prefix="evertable-chaos-"))
    try:
        with broker_behind_proxy(folder / "broker") as (broker, proxy):
            problems = run(broker, proxy, folder, seed, acts, _report)
    except BaseException:
        _report(f"\nInterrupted. Logs and files: {folder}\nRepeat with: {again}")
        raise
    if problems:
        _report("\nProblems:\n" + "\n".join(f"- {problem}" for problem in problems))
        _report(f"\nThe logs of server, Spark and broker: {folder}\nRepeat with: {again}")
        return 1
    shutil.rmtree(folder, ignore_errors=True)
    _report(f"\nNo problems. Seed {seed}.")
    return 0


def _report(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
