"""The time from ``evertable demo`` to the page's address, with everything installed."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import numpy as np
from benchmarks.figures import note
from benchmarks.machine import description

ROUNDS = 3


def start_s() -> float:
    """Runs the demo until it prints its address, which it does after the first publication."""
    command = [sys.executable, "-c", "from evertable.cli import main; main()", "demo", "--no-browser", "--port", "0"]
    begin = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    for line in process.stdout or ():
        if line.startswith("Open"):
            break
    took = time.perf_counter() - begin
    process.send_signal(signal.SIGINT)
    process.communicate()
    return took


def main() -> None:
    print(description())
    took = [start_s() for _ in range(ROUNDS)]
    note("Evertable", "demo s to rows", took)
    print(f"\nFrom the command to live rows, {ROUNDS} times: median {np.median(took):.1f} s, at most {max(took):.1f} s")


if __name__ == "__main__":
    main()
