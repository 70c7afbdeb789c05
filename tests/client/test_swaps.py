"""What a program is told of its swaps."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cli.playing import Played

from evertable.client import Client, ServerAnswerError, SwapError, Verdict
from evertable.client.swaps import Receipt


@pytest.mark.parametrize(
    ("answer", "place", "verdict"),
    [
        ({"partition": 0, "offset": 17}, (0, 17), Verdict("pending")),
        ({"partition": -1, "offset": 3, "result": "pending", "reason": None}, (-1, 3), Verdict("pending")),
        ({"partition": -1, "offset": 3, "result": "unchanged"}, (-1, 3), Verdict("unchanged")),
        ({"result": "rejected", "reason": "why"}, (None, None), Verdict("rejected", "why")),
        ({"result": "rejected", "offset": 3}, (None, None), Verdict("rejected")),
    ],
)
def test_answers(answer: dict[str, Any], place: tuple[int | None, int | None], verdict: Verdict) -> None:
    """A place to look at, or what became of it, or both."""
    receipt = Receipt.of(answer)
    assert ((receipt.partition, receipt.offset), receipt.verdict) == (place, verdict)


@pytest.mark.parametrize("answer", [{}, {"partition": 0}, {"partition": "0", "offset": "1"}, {"result": 5}])
def test_answers_that_say_nothing(answer: dict[str, Any]) -> None:
    with pytest.raises(ServerAnswerError):
        Receipt.of(answer)


def test_an_outcome() -> None:
    """Is waited for, or given up; what is not live can be raised."""
    played = Played()
    played.start()
    try:
        with Client(played.url) as client:
            answer = client.swap(joinType="inner")
            looks: list[None] = []
            assert client.outcome(answer, 0.05, lambda: looks.append(None)) == Verdict("pending")
            assert looks
            played.settle((0, 0), "rejected", "because")
            verdict = client.outcome(answer)
        assert verdict == Verdict("rejected", "because")
        with pytest.raises(SwapError) as refused:
            verdict.raise_unless_live()
        assert (refused.value.condition, refused.value.result, refused.value.reason) == (
            "SWAP_REJECTED",
            "rejected",
            "because",
        )
        Verdict("applied").raise_unless_live()
        Verdict("unchanged").raise_unless_live()
    finally:
        played.stop()
