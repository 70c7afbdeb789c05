"""Exponential backoff with jitter."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

Delays = Callable[[], Iterator[float]]


def exponential(first_s: float = 0.5, factor: float = 2.0, max_s: float = 30.0) -> Iterator[float]:
    """Yields the seconds to wait before each retry, without end; jitter keeps many clients from retrying at once."""
    delay = first_s
    while True:
        yield delay * random.uniform(0.8, 1.2)  # noqa: S311 - no secret
        delay = min(delay * factor, max_s)
