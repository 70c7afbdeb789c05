"""Work in the background returns its result, or raises its error."""

from __future__ import annotations

import pytest

from evertable.background import run_in_background


def test_background_work_returns_its_result_or_raises_its_error() -> None:
    assert run_in_background(lambda: 7).result(30) == 7

    def fails() -> None:
        raise ValueError("so")

    with pytest.raises(ValueError, match="so"):
        run_in_background(fails).result(30)
