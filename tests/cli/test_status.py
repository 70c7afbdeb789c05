"""``evertable status`` against a real server."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from tests.cli.playing import EVERTABLE, Played, ended, evertable
from tests.cli.test_tail import Terminal
from tests.client.conftest import LiveServer
from tests.waiting import wait_until


@pytest.fixture
def played() -> Iterator[Played]:
    made = Played()
    made.start()
    yield made
    made.stop()


def test_at_a_glance(played: Played) -> None:
    """One thing a line, each with its label."""
    played.live("users_v1", "accounts_v1", "left", generation=7, rows=1_100_000, message="all is well")
    played.generation(6, "users_v1", "accounts_v1", "inner", state="lingering")
    played.generation(7, "users_v1", "accounts_v1", "left", state="live")
    played.generation(8, "users_v2", "accounts_v1", "left", state="warming", rows=12)
    code, out, errors = ended(evertable(played, "status"))
    assert (code, errors) == (0, "")
    lines = out.splitlines()
    for line in (
        "wiring        users_v1, left join with accounts_v1",
        "state         live",
        "generation    7, publication 0",
        "rows          1,100,000",
        "rows/s        0.0",
        "last applied  2026-01-31T09:00:00.000Z",
        "lingering     generation 6: a rollback is instant",
        "message       all is well",
        "on its way    generation 8 is warming: users_v2, left join with accounts_v1, 12 rows",
    ):
        assert line in lines


def test_a_server_without_an_orchestrator() -> None:
    """Has little to tell, and tells it."""
    server = LiveServer()
    server.start()
    try:
        played = Played()
        played._port = server._given["port"]
        code, out, _ = ended(evertable(played, "status"))
        assert (code, out.splitlines()[:2]) == (0, ["wiring        not known yet", "state         not ready"])
        code, _, errors = ended(evertable(played, "swap", "--join", "left"))
        assert (code, errors.startswith("[CONTROL_DISABLED] ")) == (1, True)
    finally:
        server.stop()


def test_watching_in_a_pipe(played: Played) -> None:
    """A line for each change, over a restart of the server; Ctrl-C ends it quietly."""
    played.live("u", "a", "left", generation=1, state="starting")
    with evertable(played, "status", "--watch") as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("starting; u, left join with a; generation 1")
        played.stop()
        while "Trying again" not in (line := process.stdout.readline()):
            assert line
        played.live("u", "a", "inner", generation=2)
        played.start()
        while not (line := process.stdout.readline()).startswith("live; u, inner join with a; generation 2"):
            assert line
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_watching_in_a_terminal(played: Played) -> None:
    """Drawn in place, with a bar while a generation is on its way."""
    played.live("u", "a", "left", generation=7)
    terminal = Terminal(height=20)
    with terminal.run([EVERTABLE, "status", "--watch"], EVERTABLE_URL=played.url) as process:
        wait_until(lambda: terminal.shows("u, left join with a"))
        assert not terminal.shows("━")
        played.generation(8, "u2", "a", "left", state="warming", rows=12)
        wait_until(lambda: terminal.shows("generation 8 is warming: u2, left join with a, 12 rows"))
        wait_until(lambda: terminal.shows("━"))
        terminal.forget()
        played.generation(8, "u2", "a", "left", state="live", rows=12)
        played.live("u2", "a", "left", generation=8)
        wait_until(lambda: terminal.shows("u2, left join with a"))
        played.stop()
        wait_until(lambda: terminal.shows("Trying again"))
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0
        assert "Traceback" not in terminal.written
    terminal.close()
