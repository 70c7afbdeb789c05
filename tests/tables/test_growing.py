"""Arrays grow without changing what was read from them."""

from __future__ import annotations

import numpy as np

from evertable.tables.growing import GrowingArray


def test_values_that_were_read_stay_when_the_array_grows() -> None:
    array = GrowingArray(np.int32)
    array.append(np.arange(60))
    held = array.values
    array.extend(1_000, 7)
    array.values[0] = 99
    assert held[0] == 0
    assert array.values[-1] == 7
    assert len(array) == 1_060
