"""``evertable status`` against a real server."""

from __future__ import annotations

import signal

from tests.cli.terminal import EVERTABLE, Terminal, result_of, start_evertable
from tests.client.fake_orchestrator import FakeOrchestrator
from tests.client.live_server import LiveServer
from tests.waiting import wait_until


def test_status_in_a_pipe(orchestrator: FakeOrchestrator) -> None:
    """Each line has a label and a text."""
    orchestrator.set_status("users_v1", "accounts_v1", "left", generation=7, rows=1_100_000, message="all is well")
    orchestrator.set_generation(6, "users_v1", "accounts_v1", "inner", state="lingering")
    orchestrator.set_generation(7, "users_v1", "accounts_v1", "left", state="live")
    orchestrator.set_generation(8, "users_v2", "accounts_v1", "left", state="warming", rows=12)
    code, out, errors = result_of(start_evertable(orchestrator, "status"))
    assert (code, errors) == (0, "")
    lines = out.splitlines()
    for line in (
        "wiring        users_v1, left join with accounts_v1",
        "state         live",
        "generation    7, publication 0",
        "rows          1,100,000",
        "last applied  2026-01-31T09:00:00.000Z",
        "lingering     generation 6: a rollback is instant",
        "message       all is well",
        "building      generation 8 is warming: users_v2, left join with accounts_v1, 12 rows",
    ):
        assert line in lines


def test_a_server_without_an_orchestrator() -> None:
    """The status is short, and a swap is refused."""
    server = LiveServer()
    server.start()
    try:
        orchestrator = FakeOrchestrator()
        orchestrator._port = server._given["port"]
        code, out, _ = result_of(start_evertable(orchestrator, "status"))
        assert (code, out.splitlines()[:2]) == (0, ["wiring        not known yet", "state         not ready"])
        code, _, errors = result_of(start_evertable(orchestrator, "swap", "--join", "left"))
        assert (code, errors.startswith("[CONTROL_DISABLED] ")) == (1, True)
    finally:
        server.stop()


def test_watching_in_a_pipe(orchestrator: FakeOrchestrator) -> None:
    """Each change is a line, across a restart of the server; SIGTERM ends it without an error."""
    orchestrator.set_status("u", "a", "left", generation=1, state="starting")
    with start_evertable(orchestrator, "status", "--watch") as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("starting; u, left join with a; generation 1")
        orchestrator.stop()
        while "Retrying" not in (line := process.stdout.readline()):
            assert line
        orchestrator.set_status("u", "a", "inner", generation=2)
        orchestrator.start()
        while not (line := process.stdout.readline()).startswith("live; u, inner join with a; generation 2"):
            assert line
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0
        assert process.stderr is not None
        assert process.stderr.read() == ""


def test_watching_in_a_terminal(orchestrator: FakeOrchestrator) -> None:
    """The status is redrawn in place, with a progress bar while a generation is built."""
    orchestrator.set_status("u", "a", "left", generation=7)
    terminal = Terminal(height=20)
    with terminal.run([EVERTABLE, "status", "--watch"], EVERTABLE_URL=orchestrator.url) as process:
        wait_until(lambda: terminal.shows("u, left join with a"))
        assert not terminal.shows("━")
        orchestrator.set_generation(8, "u2", "a", "left", state="warming", rows=12)
        wait_until(lambda: terminal.shows("generation 8 is warming: u2, left join with a, 12 rows"))
        wait_until(lambda: terminal.shows("━"))
        terminal.clear()
        orchestrator.set_generation(8, "u2", "a", "left", state="live", rows=12)
        orchestrator.set_status("u2", "a", "left", generation=8)
        wait_until(lambda: terminal.shows("u2, left join with a"))
        orchestrator.stop()
        wait_until(lambda: terminal.shows("Retrying"))
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0
        assert "Traceback" not in terminal.written
    terminal.close()
