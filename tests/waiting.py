"""Waiting for a condition, instead of sleeping and hoping."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_S = 240
"""On a very busy machine; a quiet one takes a tenth of it."""


def wait_until(
    done: Callable[[], object], what: str | Callable[[], str] = "what the test waits for", timeout_s: float = PATIENCE_S
) -> None:
    """Returns when ``done()`` is true; looks often."""
    deadline = time.monotonic() + timeout_s
    while not done():
        assert time.monotonic() < deadline, f"not within {timeout_s} s: {what() if callable(what) else what}"
        time.sleep(0.02)
