"""Folds what a state topic holds, and finds out whether an owner of the app is running."""

from __future__ import annotations

import time
from collections.abc import Iterable

from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, Message

from evertable.kafka.consumer import place
from evertable.shutdown import Shutdown
from evertable.state.ownership import Ownership, Sign
from evertable.state.records import LastOwner, Owner, about_owners, decode
from evertable.state.state import StateFold
from evertable.state.state_log import StateReader

POLL_S = 0.1


def fold(messages: Iterable[Message], ownership: Ownership, memory: StateFold | None = None) -> None:
    """Folds what the topic says of the owners and, if there is a ``memory`` to take it, of all else."""
    for message in messages:
        key, value = (message.key() or b"").decode(errors="replace"), message.value()
        if value is None:
            ownership.left(key)
            if memory is not None:
                memory.forget([key])
            continue
        if memory is None and not about_owners(key):
            continue
        record = decode(key, value)
        if isinstance(record, Owner):
            ownership.heard(_sign(record, message))
            continue
        if isinstance(record, LastOwner):
            ownership.took_over(_sign(record.owner, message))
        if memory is not None:
            memory.apply(record)


def running_owner(
    reader: StateReader, ownership: Ownership, memory: StateFold | None, wait_s: float, shutdown: Shutdown
) -> Owner | None:
    """Returns an owner that shows a sign of life within ``wait_s``; None once all have left, stop, or are silent."""
    since, deadline = reader.next, time.monotonic() + wait_s
    while any(not sign.owner.leaving for sign in ownership.others) and time.monotonic() < deadline:
        if not shutdown.left():
            return None
        fold(reader.poll(POLL_S), ownership, memory)
        if running := ownership.living(since):
            return running
    return None


def wait_for_leaving(reader: StateReader, ownership: Ownership, wait_s: float) -> None:
    """Waits until owners that have begun to stop have left; one that has not after ``wait_s`` counts as dead."""
    deadline = time.monotonic() + wait_s
    while ownership.others and time.monotonic() < deadline:
        fold(reader.poll(POLL_S), ownership)


def _sign(owner: Owner, message: Message) -> Sign:
    kind, at_ms = message.timestamp()
    if kind != TIMESTAMP_LOG_APPEND_TIME:  # not made by us: as if it were said just now
        at_ms = int(time.time() * 1000)
    return Sign(owner, place(message)[1], at_ms)
