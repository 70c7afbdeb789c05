"""Counts wrong tokens and connections without valid HTTP, limits their log lines, and slows down guessing."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from ipaddress import IPv6Address, ip_address, ip_network

log = logging.getLogger(__name__)

MINUTE_S = 60.0
MAX_ADDRESSES = 10_000  # the latest ones are remembered
FIRST_DELAY_S = 0.1  # after an address's first wrong token in a minute; each further one doubles it
MAX_DELAY_S = 2.0  # shorter than the server's shutdown waits for responses
MAX_HELD = 256  # responses delayed at once; each costs as much as an idle connection

STATE = "evertable.bad_requests"
"""The name of the server's ``BadRequests`` in the state that the protocols share with the application."""

_WRONG_TOKEN = "A request from %s had a wrong token%s. If it should get in, check its token."  # noqa: S105 - a text
_JUNK = "A connection from %s sent no valid HTTP request%s. Does a client use https or another protocol here?"

Client = tuple[str, int] | None
"""Address and port, as ASGI has them."""


class BadRequests:
    """Logs the first wrong token of each address in a minute, and the first connection without a valid request.

    Responses to wrong tokens are delayed. Requests with the right token never are: behind a proxy they share an address
    with those that guess.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.wrong_tokens = 0
        self.junk = 0
        self._clock = clock
        self._sleep = sleep
        self._held = 0
        self._minutes: dict[str, tuple[float, int]] = {}

    async def wrong_token(self, client: Client) -> None:
        """Counts a wrong token; returns when it may be answered."""
        self.wrong_tokens += 1
        source = _network(client)
        count = self._count(source, _WRONG_TOKEN, source)
        if self._held < MAX_HELD:
            self._held += 1
            try:
                await self._sleep(min(MAX_DELAY_S, FIRST_DELAY_S * 2 ** min(count - 1, 10)))
            finally:
                self._held -= 1

    def junk_connection(self, client: Client) -> None:
        """Counts a connection that sent no valid request; all of them share one log line a minute."""
        self.junk += 1
        self._count("", _JUNK, client[0] if client else _UNKNOWN)

    def _count(self, key: str, line: str, source: str) -> int:
        """Counts an event, and logs the first one of each minute; returns how many the key's minute has."""
        now, missed = self._clock(), 0
        began, count = self._minutes.pop(key, (now, 0))
        if now - began >= MINUTE_S:
            began, count, missed = now, 0, count - 1
        self._minutes[key] = (began, count + 1)
        if len(self._minutes) > MAX_ADDRESSES:
            del self._minutes[next(iter(self._minutes))]
        if not count:
            log.warning(line, source, f", and {missed} more since the last such line" if missed else "")
        return count + 1


_UNKNOWN = "an unknown address"


def _network(client: Client) -> str:
    """Returns the address, or for IPv6 its /64 network, which usually has one owner."""
    if client is None:
        return _UNKNOWN
    try:
        parsed = ip_address(client[0].partition("%")[0])
    except ValueError:
        return client[0]
    return str(ip_network((parsed, 64), strict=False)) if isinstance(parsed, IPv6Address) else client[0]
