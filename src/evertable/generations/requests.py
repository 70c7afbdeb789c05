"""Swaps and rollbacks that are requested over HTTP."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

import orjson

from evertable.control.messages import FORCE, ControlKeys, ControlMessage
from evertable.control.writer import Writer
from evertable.errors import NothingBeforeError, NotReadyError
from evertable.generations.events import Answer, EventQueue, Message
from evertable.generations.overview import CurrentOverview

DIRECT = -1
"""The partition of requests that do not go through the control topic."""
ANSWER_S = 30.0


class ControlRequests:
    """Writes requests to the control topic, so that all of them are in one place and in one order.

    Without a control topic (``control.enabled: false``) they go to the orchestrator directly.
    """

    def __init__(self, keys: ControlKeys, writer: Writer | None, events: EventQueue, overview: CurrentOverview) -> None:
        self._keys = keys
        self._writer = writer
        self._events = events
        self._overview = overview
        self._numbers = itertools.count()

    async def swap(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        """Requests what a control message would; returns where it was written."""
        return await asyncio.to_thread(self._write, message)

    async def rollback(self) -> Mapping[str, Any]:
        """Requests the wiring that was live before; NothingBeforeError if there was none."""
        overview = self._overview.snapshot
        if overview is None:
            raise NotReadyError("The orchestrator is not running yet.", "Try again soon.")
        if overview.previous is None:
            raise NothingBeforeError("There was no other wiring before this one.")
        # Viewers have seen it before, so it is never held.
        return await self.swap({**self._keys.message(overview.previous), FORCE: True})

    def _write(self, message: Mapping[str, Any]) -> Mapping[str, Any]:
        if self._writer is not None:
            partition, offset = self._writer.write(message)
            return {"partition": partition, "offset": offset}
        if self._overview.snapshot is None:
            raise NotReadyError("The orchestrator is not running yet.", "Try again soon.")
        answer: Answer = Future()
        record = ControlMessage(DIRECT, next(self._numbers), int(time.time() * 1000), orjson.dumps(message))
        self._events.put(Message(record, answer))
        return {"partition": record.partition, "offset": record.offset, **answer.result(ANSWER_S)}
