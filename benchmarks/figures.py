"""Saves a benchmark's figures for the report, one JSON line each, if a file is given."""

from __future__ import annotations

import json
import os
from pathlib import Path

VARIABLE = "EVERTABLE_BENCH_FIGURES"


def note(system: str, measure: str, value: float | list[float], **about: object) -> None:
    """Appends one or several values of a measure to the file that the variable names."""
    if path := os.environ.get(VARIABLE):
        line = json.dumps({"system": system, "measure": measure, **about, "value": value})
        with Path(path).open("a") as file:
            file.write(line + "\n")
