"""A viewer that does not read costs little, delays nobody, and continues with the newest page."""

from __future__ import annotations

import ctypes
import gc
import socket as sockets_
from pathlib import Path

import pytest
from tests.certificates import Authority
from tests.live.samples import USERS, catalog_of
from tests.server.conftest import Serve
from tests.server.trusting import trusting
from tests.server.viewers import Viewer, live
from tests.waiting import wait_until

from evertable.server.operations import resident_bytes
from evertable.tables.bounded import BoundedTable

ROWS = 2_000
FULL = 50
"""Rounds until all buffers on the way are full."""
MAX_BYTES = 5_000_000


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 with its key and its authority in one file."""
    return Authority(tmp_path_factory.mktemp("tls")).identity("here").both


@pytest.mark.parametrize("secured", [False, True], ids=["plain", "TLS"])
def test_a_stalled_viewer_costs_little_and_catches_up_with_one_page(
    serve: Serve, certificate: Path, secured: bool
) -> None:
    """Tens of megabytes of changes later it reads what the buffers hold, then the newest page."""
    rows = BoundedTable(USERS, ROWS)

    def change(number: int) -> None:
        rows.put({i: (f"user {i}", f"{number} " + "x" * 100, number) for i in range(ROWS)})

    change(0)
    tls = {"certificate": str(certificate), "key": str(certificate)} if secured else None
    server, hub, sockets = live(serve, catalog_of(users_ui=rows), tls=tls)
    options = {"ssl": trusting(certificate)} if secured else {}
    with Viewer(server.url, **options) as lively, Viewer(server.url, max_queue=1, **options) as stalled:
        picture = lively.subscribe("users_ui", limit=1_000)
        stalled.subscribe("users_ui", limit=1_000)
        stalled.socket.socket.setsockopt(sockets_.SOL_SOCKET, sockets_.SO_RCVBUF, 65_536)
        before, pages, number = 0, 0, 0
        while number < 4 * FULL:
            number += 1
            change(number)
            lively.until(lambda number=number: picture.rows[0][2] == number)  # type: ignore[misc]
            if number == FULL:
                wait_until(lambda: sockets.blocked)
                gc.collect()
                pages = hub.sent["page"]
            if FULL <= number < 2 * FULL:  # the next rounds reuse this memory
                before = max(before, resident_bytes())
        lively.settle(1)
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)  # free memory that the allocator keeps is not the viewer's
        assert resident_bytes() - before < MAX_BYTES
        assert hub.sent["page"] - pages <= number - FULL + 1  # those of the lively viewer
        late, sent = stalled.pictures["a"], hub.sent["page"]
        stalled.until(lambda: late.rows[0][2] == number)
        assert late.rows == picture.rows
        assert hub.sent["page"] <= sent + 1
