"""Exponential backoff."""

from __future__ import annotations

from evertable.backoff import exponential


def test_delays_grow_to_a_limit_without_end() -> None:
    delays = exponential(first_s=1, factor=2, max_s=8)
    first = [next(delays) for _ in range(50)]
    assert all(0.8 * least <= delay <= 1.2 * least for delay, least in zip(first, [1, 2, 4, *[8] * 47], strict=True))
