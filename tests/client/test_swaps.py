"""The outcome of a swap, for programs."""

from __future__ import annotations

from typing import Any

import pytest
from tests.client.fake_orchestrator import FakeOrchestrator

from evertable.client import Client, ServerAnswerError, SwapError, SwapResult
from evertable.client.swaps import SentMessage


@pytest.mark.parametrize(
    ("answer", "position", "result"),
    [
        ({"partition": 0, "offset": 17}, (0, 17), SwapResult("pending")),
        ({"partition": -1, "offset": 3, "result": "pending", "reason": None}, (-1, 3), SwapResult("pending")),
        ({"partition": -1, "offset": 3, "result": "unchanged"}, (-1, 3), SwapResult("unchanged")),
        ({"result": "rejected", "reason": "why"}, (None, None), SwapResult("rejected", "why")),
        ({"result": "rejected", "offset": 3}, (None, None), SwapResult("rejected")),
    ],
)
def test_answers(answer: dict[str, Any], position: tuple[int | None, int | None], result: SwapResult) -> None:
    """An answer has a position, a result, or both."""
    sent = SentMessage.from_answer(answer)
    assert ((sent.partition, sent.offset), sent.result) == (position, result)


@pytest.mark.parametrize("answer", [{}, {"partition": 0}, {"partition": "0", "offset": "1"}, {"result": 5}])
def test_malformed_answers(answer: dict[str, Any]) -> None:
    with pytest.raises(ServerAnswerError):
        SentMessage.from_answer(answer)


def test_an_outcome() -> None:
    """The outcome is waited for until a timeout; a swap that is not live can be raised as an error."""
    orchestrator = FakeOrchestrator()
    orchestrator.start()
    try:
        with Client(orchestrator.url) as client:
            answer = client.swap(joinType="inner")
            waits: list[None] = []
            assert client.outcome(answer, 0.05, lambda: waits.append(None)) == SwapResult("pending")
            assert waits
            orchestrator.settle((0, 0), "rejected", "because")
            result = client.outcome(answer)
        assert result == SwapResult("rejected", "because")
        with pytest.raises(SwapError) as refused:
            result.raise_unless_live()
        assert (refused.value.condition, refused.value.result, refused.value.reason) == (
            "SWAP_REJECTED",
            "rejected",
            "because",
        )
        SwapResult("applied").raise_unless_live()
        SwapResult("unchanged").raise_unless_live()
    finally:
        orchestrator.stop()
