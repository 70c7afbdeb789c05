"""What became of a swap: the answer to asking for it, and the row of ``control_raw`` that tells the rest."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from evertable.client.errors import ServerAnswerError, ServerUnreachableError, SwapError
from evertable.client.watch import Watch
from evertable.protocol.page import Page

MESSAGES = "control_raw"
PENDING = "pending"
LIVE = ("applied", "unchanged")
LOOK_S = 0.25


@dataclass(frozen=True)
class Verdict:
    """What became of a control message, in the words of docs/CONTROL.md; ``reason`` says why nothing came of it."""

    result: str
    reason: str = ""

    @property
    def is_final(self) -> bool:
        return self.result != PENDING

    def raise_unless_live(self) -> None:
        """SwapError if what was asked for is not what viewers see."""
        if self.result not in LIVE:
            raise SwapError(self.result, self.reason)


@dataclass(frozen=True)
class Receipt:
    """Where a message stands on the control topic (partition -1: it was applied directly), and what is known of it."""

    partition: int | None
    offset: int | None
    verdict: Verdict

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> Receipt:
        """From what ``POST /api/control`` or ``POST /api/rollback`` answers."""
        place = answer.get("partition"), answer.get("offset")
        result, reason = answer.get("result", PENDING), answer.get("reason") or ""
        placed = all(isinstance(part, int) for part in place)
        if not isinstance(result, str) or not (placed or result != PENDING):
            raise ServerAnswerError("The server does not say what becomes of the swap.", "Is it a newer version?")
        return cls(*(place if placed else (None, None)), Verdict(result, str(reason)))

    @property
    def filter(self) -> str:
        """What finds its row."""
        return f"partition = {self.partition} and offset = {self.offset}"


def final_verdict(row: Callable[[], Watch], timeout_s: float | None, on_wait: Callable[[], None]) -> Verdict | None:
    """What the message's row says once that is decided; None after the timeout. ``row`` watches it."""
    deadline = math.inf if timeout_s is None else time.monotonic() + timeout_s
    while (left := deadline - time.monotonic()) > 0:
        try:
            with row() as watch:
                return _decided(watch, deadline, on_wait)
        except ServerUnreachableError:  # it was there when it took the message, and is not back yet
            time.sleep(min(LOOK_S, left))
    return None


def _decided(watch: Watch, deadline: float, on_wait: Callable[[], None]) -> Verdict | None:
    while (left := deadline - time.monotonic()) > 0:
        page = watch.poll(min(LOOK_S, left))
        if page is not None and page.rows and (verdict := _verdict_in(page)).is_final:
            return verdict
        on_wait()
    return None


def _verdict_in(page: Page) -> Verdict:
    row = dict(zip((column.name for column in page.columns), page.rows[0], strict=True))
    return Verdict(str(row.get("result") or PENDING), str(row.get("reason") or ""))
