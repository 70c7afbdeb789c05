"""Memory that generations have freed is returned to the system."""

from __future__ import annotations

import subprocess
import sys

FREED_AND_KEPT = """
import threading
from pathlib import Path
from evertable.generations.running import give_back_memory

def resident_mb():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096 / 1e6

kept = []
def live():
    pieces = [bytearray(50_000) for _ in range(400)]
    kept.append(pieces[-1])  # as a row does that is still shown: what lies below it cannot simply shrink

before = resident_mb()
for _ in range(8):
    thread = threading.Thread(target=live)
    thread.start()
    thread.join()
grown = resident_mb() - before
give_back_memory()
print(grown, resident_mb() - before)
"""


def test_memory_that_other_threads_freed_is_returned_to_the_system() -> None:
    output = subprocess.run([sys.executable, "-c", FREED_AND_KEPT], check=True, capture_output=True, text=True).stdout
    grown, left = map(float, output.split())
    assert left < 4 < grown
