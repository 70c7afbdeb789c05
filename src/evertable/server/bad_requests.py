"""Counts wrong tokens and connections without valid HTTP, limits their log lines, and slows down guessing."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Any

log = logging.getLogger(__name__)

MINUTE_S = 60.0
MAX_ADDRESSES = 10_000  # the latest ones are remembered
FIRST_DELAY_S = 0.1  # after an address's first wrong token in a minute; each further one doubles it
MAX_DELAY_S = 2.0  # shorter than the server's shutdown waits for responses
MAX_HELD = 256  # responses delayed at once; each costs as much as an idle connection

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
        """Counts an event; returns how many its minute has, and how many the last minute had after its first."""
        now, missed = self._clock(), 0
        began, count = self._minutes.pop(key, (now, 0))
        if now - began >= MINUTE_S:
            began, count, missed = now, 0, count - 1
        self._minutes[key] = (began, count + 1)
        if len(self._minutes) > MAX_ADDRESSES:
            del self._minutes[next(iter(self._minutes))]
        return count + 1, missed


class WrongTokens:
    """Logs the first wrong token of each address in a minute, and delays the responses to all of them.

    Requests with the right token are never delayed: behind a proxy they share an address with those that guess.
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

    async def count(self, address: str) -> None:
        """Counts a wrong token; returns when it may be answered."""
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
    """Counts connections that sent no valid request; they share one log line a minute."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.total = 0
        self._counts = MinuteCounts(clock)

    def count(self, address: str) -> None:
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
    """Returns the address, or for IPv6 its /64 network, which usually has one owner."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    return str(ip_network((parsed, 64), strict=False)) if isinstance(parsed, IPv6Address) else address


def report_junk(state: Mapping[str, Any], client: tuple[str, int] | None) -> None:
    """Counts a connection, if the application has a counter in its state."""
    junk: JunkConnections | None = state.get(JUNK)
    if junk is not None:
        junk.count(client[0] if client else UNKNOWN)
