"""A viewer that takes nothing costs little, slows nobody down, and goes on with the newest page."""

from __future__ import annotations

import os
import socket as sockets_
import time
from pathlib import Path

from tests.server.conftest import USERS, Serve
from tests.server.test_socket import catalog_of
from tests.server.viewers import Viewer, live
from tests.waiting import wait_until

from evertable.tables.bounded import BoundedTable

ROWS = 2_000
FULL = 50
"""Rounds until all buffers on the way are full."""
STALL_S = 30.0
MAX_BYTES = 5_000_000


def memory() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def test_a_stalled_viewer_costs_little_and_catches_up_with_one_page(serve: Serve) -> None:
    """Tens of megabytes of pages change meanwhile; what it finds is what fits into the network, then the newest."""
    rows = BoundedTable(USERS, ROWS)

    def change(number: int) -> None:
        rows.put({i: (f"user {i}", f"{number} " + "x" * 100, number) for i in range(ROWS)})

    change(0)
    server, hub, sockets = live(serve, catalog_of(users_ui=rows))
    with Viewer(server.url) as lively, Viewer(server.url, max_queue=1) as stalled:
        picture = lively.subscribe("users_ui", limit=1_000)
        stalled.subscribe("users_ui", limit=1_000)
        stalled.socket.socket.setsockopt(sockets_.SOL_SOCKET, sockets_.SO_RCVBUF, 65_536)
        start, before, pages, number = time.monotonic(), 0, 0, 0
        while number < 2 * FULL or time.monotonic() < start + STALL_S:
            number += 1
            change(number)
            lively.until(lambda number=number: picture.rows[0][2] == number)  # type: ignore[misc]
            if number == FULL:
                wait_until(lambda: sockets.blocked)
                before, pages = memory(), hub.sent["page"]
        lively.settle(1)
        assert memory() - before < MAX_BYTES
        assert hub.sent["page"] - pages <= number - FULL + 1  # to the lively one
        late, sent = stalled.pictures["a"], hub.sent["page"]
        stalled.until(lambda: late.rows[0][2] == number)
        assert late.rows == picture.rows
        assert hub.sent["page"] <= sent + 1
