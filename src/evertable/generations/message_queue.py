"""Control messages on their way: resolved in order, checked against Kafka, and settled with a result."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import replace

from evertable.background import run_in_background
from evertable.control.messages import (
    Condition,
    ControlMessage,
    FoldedMessages,
    Given,
    Rejected,
    Resolved,
    keys_of,
    resolve,
)
from evertable.errors import NotReadyError
from evertable.generations.context import GenerationContext
from evertable.generations.events import Answer, Checked, Message
from evertable.generations.lifecycle import Lifecycle
from evertable.generations.state_writer import StateWriter
from evertable.generations.status_tables import StatusTables, iso_of_ms
from evertable.schema.wiring import Wiring
from evertable.state.records import ControlOffset, ControlResult

MessageId = tuple[int, int]
"""A control message's partition and offset; partition -1 for direct requests."""
FindMissing = Callable[[Wiring], str]
"""Asks Kafka whether a wiring's topics exist, and returns a sentence about those that do not."""


class MessageQueue:
    """Decides on one control message after the other; for the orchestrator's thread.

    ``want`` is called with the wiring of each message that is accepted. While Kafka is asked for the topics of one,
    those behind it wait.
    """

    def __init__(
        self,
        context: GenerationContext,
        life: Lifecycle,
        status_tables: StatusTables,
        state_writer: StateWriter,
        find_missing: FindMissing,
        want: Callable[[Wiring, MessageId], None],
    ) -> None:
        self._context = context
        self._keys = keys_of(context.config)
        self._life = life
        self._status = status_tables
        self._state_writer = state_writer
        self._find_missing = find_missing
        self._want = want
        self._waiting: deque[Message] = deque()
        self._is_checking = False
        self._pending: dict[MessageId, tuple[ControlMessage, Resolved]] = {}
        """The messages that wait for their generations."""
        self._next_offsets: dict[int, ControlOffset] = {}
        """By partition of the control topic, the offset behind the last message that was decided."""

    def recall(self, folded: FoldedMessages, topic_id: str | None) -> MessageId | None:
        """Takes over messages that came before the start; returns the newest valid one, to be settled."""
        newest: MessageId | None = None
        for record, verdict in folded.resolutions:
            self._next_offsets[record.partition] = self._offset_behind(record, topic_id)
            if isinstance(verdict, Rejected):
                self._reject(record, verdict)
                continue
            if newest is not None:
                self.settle(newest, "superseded", "a newer message came")
            newest = self._accept(record, verdict)
        return newest

    def receive(self, message: Message) -> None:
        self._waiting.append(message)
        self._decide_next()

    def take_checked(self, checked: Checked) -> None:
        """Goes on with a message once Kafka was asked for its topics."""
        self._is_checking = False
        message, verdict = checked.message, checked.resolved
        if self._resolved(message) != verdict:  # another wiring is wanted by now
            self._waiting.appendleft(message)
        elif checked.missing:
            self._decide(message, Rejected(Condition.TOPIC_NOT_FOUND, checked.missing, verdict.given))
        else:
            self._decide(message, verdict)
        self._decide_next()

    def is_forced(self, request: MessageId) -> bool:
        return self._pending[request][1].force

    def settle(self, request: MessageId, result: str, reason: str) -> None:
        """Records what became of a pending message."""
        record, verdict = self._pending.pop(request)
        self._settle(record, verdict.given, result, reason)

    def close(self) -> None:
        """Refuses direct requests that wait; messages of the control topic are read again at the next start."""
        for message in self._waiting:
            if message.answer is not None:
                message.answer.set_exception(NotReadyError("The server is stopping.", "Send the request again later."))

    def _decide_next(self) -> None:
        while self._waiting and not self._is_checking:
            message = self._waiting.popleft()
            verdict = self._resolved(message)
            if isinstance(verdict, Resolved) and self._has_new_topics(verdict.wiring):
                self._check(message, verdict)
            else:
                self._decide(message, verdict)

    def _resolved(self, message: Message) -> Resolved | Rejected:
        return resolve(message.record.value, self._life.wanted or self._context.config.wiring, self._keys)

    def _has_new_topics(self, wiring: Wiring) -> bool:
        """Returns whether a wiring has topics that are not read already."""
        known = {lingering.wiring for lingering in self._life.lingering}
        live = self._life.live
        return wiring not in known and not (live and wiring == replace(live.wiring, join=wiring.join))

    def _check(self, message: Message, resolved: Resolved) -> None:
        """Asks Kafka for the topics, so that a message with a wrong name is rejected before anything is touched."""
        self._is_checking = True

        def check() -> None:
            missing = ""
            try:
                missing = self._find_missing(resolved.wiring)
            finally:  # an error says nothing against the topics, and the build will meet it again
                self._context.post(Checked(message, resolved, missing))

        run_in_background(check, "evertable-generation")

    def _decide(self, message: Message, verdict: Resolved | Rejected) -> None:
        record = message.record
        self._next_offsets[record.partition] = self._offset_behind(record, message.topic_id)
        if isinstance(verdict, Rejected):
            self._reject(record, verdict, message.answer)
            return
        source = _source(record)
        self._status.report("INFO", f"Control message received ({source}), resolved to {verdict.wiring}")
        for warning in verdict.warnings:
            self._status.report("WARN", f"Control message ({source}): {warning}")
        request = self._accept(record, verdict)
        if message.answer is not None:
            message.answer.set_result({"result": "pending", "reason": ""})
        self._want(verdict.wiring, request)

    def _accept(self, record: ControlMessage, verdict: Resolved) -> MessageId:
        request = (record.partition, record.offset)
        self._pending[request] = record, verdict
        self._status.message(request, verdict.given, iso_of_ms(record.timestamp), "pending", "")
        return request

    def _reject(self, record: ControlMessage, verdict: Rejected, answer: Answer | None = None) -> None:
        reason = f"{verdict.condition}: {verdict.sentence}"
        self._status.report("WARN", f"Control message ({_source(record)}) rejected: {reason}")
        self._settle(record, verdict.given, "rejected", reason)
        if answer is not None:
            answer.set_result({"result": "rejected", "reason": reason})

    def _settle(self, record: ControlMessage, given: Given, result: str, reason: str) -> None:
        self._status.message((record.partition, record.offset), given, iso_of_ms(record.timestamp), result, reason)
        if record.partition >= 0:
            settled = ControlResult(record.partition, record.offset, record.timestamp, given, result, reason)
            self._state_writer.write(settled, self._next_offset(record.partition))

    def _offset_behind(self, record: ControlMessage, topic_id: str | None) -> ControlOffset:
        return ControlOffset(record.partition, record.offset + 1, topic_id, self._context.config.control.topic)

    def _next_offset(self, partition: int) -> ControlOffset:
        """The offset at which a restart begins to read: pending messages are then read again."""
        pending = [offset for at, offset in self._pending if at == partition]
        behind = self._next_offsets[partition]
        return replace(behind, next=min([*pending, behind.next]))


def _source(record: ControlMessage) -> str:
    return f"partition {record.partition}, offset {record.offset}" if record.partition >= 0 else "direct"
