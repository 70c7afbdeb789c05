"""The Python client: pages of live tables, watched or read whole.

- ``client``: :class:`Client` and its tables, over ``rest`` (httpx) and ``watch``;
- ``following``: frames to pages, without a socket; ``state`` and ``retry``: how a connection lives and heals;
- ``connection``: these three with a WebSocket; ``watch`` and ``mailbox``: its thread, and pages handed over;
- ``swaps``: what became of a swap.
"""

from evertable.client.client import Client, TableHandle, TableInfo
from evertable.client.errors import (
    AccessDeniedError,
    AddressError,
    ClientClosedError,
    PandasMissingError,
    ServerAnswerError,
    ServerRefusedError,
    ServerUnreachableError,
    SwapError,
)
from evertable.client.state import ConnectionState
from evertable.client.swaps import Verdict
from evertable.client.watch import Watch
from evertable.protocol.page import Page

__all__ = [
    "AccessDeniedError",
    "AddressError",
    "Client",
    "ClientClosedError",
    "ConnectionState",
    "Page",
    "PandasMissingError",
    "ServerAnswerError",
    "ServerRefusedError",
    "ServerUnreachableError",
    "SwapError",
    "TableHandle",
    "TableInfo",
    "Verdict",
    "Watch",
]
