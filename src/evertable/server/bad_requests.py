"""Counts wrong tokens and connections that speak no HTTP, logs them sparingly, and slows guessing down."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any

log = logging.getLogger(__name__)

MINUTE_S = 60.0
MAX_ADDRESSES = 10_000  # remembered at once, the latest ones
FIRST_DELAY_S = 0.1  # after an address's first wrong token in a minute; each further one doubles it
MAX_DELAY_S = 2.0  # less than a stop of the server waits for answers
MAX_HELD = 256  # answers held back at once; a held one takes up no more than an idle connection

UNKNOWN = "an unknown address"
JUNK = "evertable.junk"
"""The name of the server's ``JunkConnections`` in the state that the protocols share with the application."""


class MinuteCounts:
    """Counts events by key; each key's minute begins with its first event."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._minutes: dict[str, tuple[float, int]] = {}

    def __len__(self) -> int:
        return len(self._minutes)

    def add(self, key: str) -> tuple[int, int]:
        """Counts an event: how many its minute has by now, and how many came after the first in the minute before."""
        now, missed = self._clock(), 0
        began, count = self._minutes.pop(key, (now, 0))
        if now - began >= MINUTE_S:
            began, count, missed = now, 0, count - 1
        self._minutes[key] = (began, count + 1)
        if len(self._minutes) > MAX_ADDRESSES:
            del self._minutes[next(iter(self._minutes))]
        return count + 1, missed


class WrongTokens:
    """Logs the first wrong token of each address in a minute, and delays the answers to all of them.

    The right token is never delayed, whoever else guesses from the same address: behind a proxy all share one.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.total = 0
        self._counts = MinuteCounts(clock)
        self._sleep = sleep
        self._held = 0

    async def seen(self, address: str) -> None:
        """Counts one, and returns when it may be answered."""
        self.total += 1
        source = _network(address)
        count, missed = self._counts.add(source)
        if count == 1:
            more = f", and {missed} more since the last such line" if missed else ""
            log.warning("A request from %s had a wrong token%s. If it should get in, check its token.", source, more)
        if self._held < MAX_HELD:
            self._held += 1
            try:
                await self._sleep(min(MAX_DELAY_S, FIRST_DELAY_S * 2 ** min(count - 1, 10)))
            finally:
                self._held -= 1


class JunkConnections:
    """Connections that sent something other than a valid request; they share one log line a minute."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.total = 0
        self._counts = MinuteCounts(clock)

    def seen(self, address: str) -> None:
        self.total += 1
        count, missed = self._counts.add("")
        if count == 1:
            more = f", and {missed} more did since the last such line" if missed else ""
            log.warning(
                "A connection from %s sent no valid HTTP request%s. Does a client use https or another protocol here?",
                address,
                more,
            )


def _network(address: str) -> str:
    """The address, or for IPv6 the /64 network, all of which is usually in one hand."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    return str(ip_network((parsed, 64), strict=False)) if isinstance(parsed, IPv6Address) else address


def report_junk(state: Mapping[str, Any], client: tuple[str, int] | None) -> None:
    """Counts a connection, for a protocol; an application that is not ours has nothing to count with."""
    junk: JunkConnections | None = state.get(JUNK)
    if junk is not None:
        junk.seen(client[0] if client else UNKNOWN)
