"""Growing, jittered delays between tries."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

Delays = Callable[[], Iterator[float]]


def growing(first_s: float = 0.5, factor: float = 2.0, most_s: float = 30.0) -> Iterator[float]:
    """Seconds to wait before the next try, for ever; jittered so that many waiters do not come at once."""
    delay = first_s
    while True:
        yield delay * random.uniform(0.8, 1.2)  # noqa: S311 - no secret
        delay = min(delay * factor, most_s)
