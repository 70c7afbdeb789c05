"""Waits for conditions, instead of fixed sleeps."""

from __future__ import annotations

import time
from collections.abc import Callable

PATIENCE_S = 240
"""Suits very busy machines; others need a tenth of it."""


def wait_until(
    done: Callable[[], object], what: str | Callable[[], str] = "what the test waits for", timeout_s: float = PATIENCE_S
) -> None:
    """Returns when ``done()`` is true, which it checks often."""
    deadline = time.monotonic() + timeout_s
    while not done():
        assert time.monotonic() < deadline, f"not within {timeout_s} s: {what() if callable(what) else what}"
        time.sleep(0.02)
