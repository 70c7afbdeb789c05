"""``scripts/test --chaos``: one run, told as it goes; the exit code says whether all was well."""

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
"""Of harm; the beginning and the verdict take about three more."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/test --chaos", description="Runs all of it under chaos.")
    parser.add_argument("--seed", type=int, default=None, help="decides what happens and when; a new one if not given")
    parser.add_argument("--minutes", type=float, default=MINUTES, help=f"of harm, {MINUTES:g} if not given")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else time.time_ns() % 1_000_000
    acts = schedule(seed, options.minutes * 60)
    again = f"scripts/test --chaos --seed {seed} --minutes {options.minutes:g}"
    _say(f"Seed {seed}, {options.minutes:g} minutes. The same again: {again}\n\nThe schedule:")
    _say("\n".join(map(str, acts)) + "\n")
    folder = Path(tempfile.mkdtemp(prefix="evertable-chaos-"))
    try:
        with broker_behind_proxy(folder / "broker") as (broker, proxy):
            problems = run(broker, proxy, folder, seed, acts, _say)
    except BaseException:
        _say(f"\nBroken off. What is left of it: {folder}\nThe same again: {again}")
        raise
    if problems:
        _say("\nWRONG:\n" + "\n".join(f"- {problem}" for problem in problems))
        _say(f"\nThe server's words, Spark's and the broker's logs: {folder}\nThe same again: {again}")
        return 1
    shutil.rmtree(folder, ignore_errors=True)
    _say(f"\nAll is well. Seed {seed}.")
    return 0


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
