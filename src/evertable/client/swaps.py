"""The outcome of a swap: the server's answer to the request, and the row of ``control_raw`` that holds the result."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from evertable.client.errors import OTHER_VERSION, ServerAnswerError, ServerUnreachableError, SwapError
from evertable.client.watch import Watch

CONTROL_TABLE = "control_raw"
PENDING = "pending"
LIVE_RESULTS = ("applied", "unchanged")
POLL_S = 0.25


@dataclass(frozen=True)
class SwapResult:
    """The result of a control message, as docs/CONTROL.md names it, with the reason if nothing was changed."""

    result: str
    reason: str = ""

    @property
    def is_final(self) -> bool:
        return self.result != PENDING

    def raise_unless_live(self) -> None:
        """Raises SwapError if viewers do not see the requested wiring."""
        if self.result not in LIVE_RESULTS:
            raise SwapError(self.result, self.reason)


@dataclass(frozen=True)
class SentMessage:
    """A control message's position on its topic (partition -1: it was applied directly), and its result so far."""

    partition: int | None
    offset: int | None
    result: SwapResult

    @classmethod
    def from_answer(cls, answer: Mapping[str, Any]) -> SentMessage:
        """Reads an answer of ``POST /api/control`` or ``POST /api/rollback``."""
        position = answer.get("partition"), answer.get("offset")
        result, reason = answer.get("result", PENDING), answer.get("reason") or ""
        has_position = all(isinstance(part, int) for part in position)
        if not isinstance(result, str) or not (has_position or result != PENDING):
            raise ServerAnswerError("The server's answer has neither a result nor a position.", OTHER_VERSION)
        return cls(*(position if has_position else (None, None)), SwapResult(result, str(reason)))

    @property
    def filter(self) -> str:
        """The filter that selects the message's row."""
        return f"partition = {self.partition} and offset = {self.offset}"


def await_result(
    watch_row: Callable[[], Watch], timeout_s: float | None, on_wait: Callable[[], None]
) -> SwapResult | None:
    """Returns the final result from the message's row; None after the timeout. Outlives restarts of the server."""
    deadline = math.inf if timeout_s is None else time.monotonic() + timeout_s
    while (left := deadline - time.monotonic()) > 0:
        try:
            with watch_row() as watch:
                while (left := deadline - time.monotonic()) > 0:
                    page = watch.poll(min(POLL_S, left))
                    for row in page.dicts() if page else []:
                        result = SwapResult(str(row.get("result") or PENDING), str(row.get("reason") or ""))
                        if result.is_final:
                            return result
                    on_wait()
        except ServerUnreachableError:  # it took the message, so it is probably restarting
            time.sleep(min(POLL_S, left))
    return None
