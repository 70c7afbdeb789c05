"""What a benchmark found, kept for the report: one JSON line for each figure, if somebody wants them."""

from __future__ import annotations

import json
import os
from pathlib import Path

VARIABLE = "EVERTABLE_BENCH_FIGURES"


def note(system: str, measure: str, value: float | list[float], **about: object) -> None:
    """Adds a figure, or many of a kind, to the file that the variable names."""
    if path := os.environ.get(VARIABLE):
        line = json.dumps({"system": system, "measure": measure, **about, "value": value})
        with Path(path).open("a") as file:
            file.write(line + "\n")
