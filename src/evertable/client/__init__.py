"""The Python client: pages of live tables, watched or read whole.

- ``client``: :class:`Client` and its tables, over ``rest`` (httpx) and ``watch``;
- ``watch``: a thread with a ``connection``, and its newest page;
- ``connection``: the WebSocket, over ``receiver`` (frames to pages) and ``retry``, which do no I/O;
- ``swaps``: the outcome of a swap.
"""

from evertable.client.client import Client, TableHandle, TableInfo
from evertable.client.connection import ConnectionState
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
from evertable.client.swaps import SwapResult
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
    "SwapResult",
    "TableHandle",
    "TableInfo",
    "Watch",
]
