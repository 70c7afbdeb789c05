"""``evertable swap`` and ``evertable rollback`` against a real server."""

from __future__ import annotations

import signal

import pytest
from tests.cli.terminal import EVERTABLE, Terminal, result_of, start_evertable
from tests.client.fake_orchestrator import FakeOrchestrator
from tests.waiting import wait_until

from evertable.errors import ControlReadOnlyError


def test_a_swap(orchestrator: FakeOrchestrator) -> None:
    """Options that are left out are not sent; the output names the live wiring."""
    process = start_evertable(orchestrator, "swap", "--users-topic", "users_v2", "--join", "Inner")
    wait_until(orchestrator.was_asked.is_set)
    assert orchestrator.received == [{"usersTopic": "users_v2", "joinType": "Inner"}]
    orchestrator.settle((0, 0), "pending")
    orchestrator.set_status("users_v2", "accounts_v1", "inner", generation=7)
    orchestrator.settle((0, 0), "applied")
    live = "Live: users_v2, inner join with accounts_v1, generation 7. Next: evertable status\n"
    assert result_of(process) == (0, live, "")


def test_a_forced_swap_prints_its_warning(orchestrator: FakeOrchestrator) -> None:
    process = start_evertable(orchestrator, "swap", "--users-topic", "users_v2", "--force")
    wait_until(orchestrator.was_asked.is_set)
    assert orchestrator.received == [{"usersTopic": "users_v2", "force": True}]
    orchestrator.settle((0, 0), "applied", "No row of 'users_v2' matches any row of 'accounts_v1'.")
    code, out, _ = result_of(process)
    assert code == 0
    assert out.endswith("\nWarning: No row of 'users_v2' matches any row of 'accounts_v1'.\n")


def test_an_unchanged_wiring_is_live(orchestrator: FakeOrchestrator) -> None:
    process = start_evertable(orchestrator, "swap", "--accounts-topic", "accounts_v1")
    wait_until(orchestrator.was_asked.is_set)
    orchestrator.settle((0, 0), "unchanged")
    assert result_of(process) == (0, "Nothing changed. Next: evertable status\n", "")


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (
            "rejected",
            "[SWAP_REJECTED] Swap rejected; the wiring did not change. TOPIC_NOT_FOUND: no 'x'. Correct",
        ),
        (
            "held",
            "[SWAP_HELD] Swap held, because its result looks wrong; the wiring did not change. TOPIC",
        ),
        ("failed", "[SWAP_FAILED] Swap failed; the wiring did not change. TOPIC_NOT_FOUND: no 'x'."),
        ("superseded", "[SWAP_SUPERSEDED] A newer control message replaced the swap. TOPIC_NOT_FOUND"),
        ("exploded", "[SWAP_EXPLODED] The swap ended as 'exploded'. TOPIC_NOT_FOUND: no 'x'."),
    ],
)
def test_a_swap_that_does_not_become_live(orchestrator: FakeOrchestrator, result: str, expected: str) -> None:
    """The exit code is 1, and the error has the reason."""
    process = start_evertable(orchestrator, "swap", "--set", "usersTopic=x")
    wait_until(orchestrator.was_asked.is_set)
    orchestrator.settle((0, 0), result, "TOPIC_NOT_FOUND: no 'x'.")
    code, out, errors = result_of(process)
    assert (code, out, errors[: len(expected)]) == (1, "", expected)


def test_a_timeout(orchestrator: FakeOrchestrator) -> None:
    """The swap continues."""
    code, _, errors = result_of(start_evertable(orchestrator, "swap", "--join", "asof", "--timeout", "0.1"))
    assert (code, errors.startswith("[SWAP_PENDING] The swap is not live yet. It continues")) == (1, True)


def test_no_wait(orchestrator: FakeOrchestrator) -> None:
    """The output has the position of the message."""
    expected = (0, "Sent: partition 0, offset 0. Next: evertable status --watch\n", "")
    assert result_of(start_evertable(orchestrator, "swap", "--no-wait", "--join", "asof")) == expected


def test_without_a_control_topic(orchestrator: FakeOrchestrator) -> None:
    """A result that is known already is printed with and without ``--wait``; a pending one has its row."""
    orchestrator.direct = True
    orchestrator.answer = {"result": "rejected", "reason": "UNKNOWN_JOIN_TYPE: 'x'."}
    for wait in ("--wait", "--no-wait"):
        code, _, errors = result_of(start_evertable(orchestrator, "swap", "--join", "x", wait))
        assert (code, "UNKNOWN_JOIN_TYPE" in errors) == (1, True)
    orchestrator.answer = {"result": "pending", "reason": ""}
    assert (
        result_of(start_evertable(orchestrator, "swap", "--join", "left", "--no-wait"))[1]
        == "Sent. Next: evertable status --watch\n"
    )
    orchestrator.was_asked.clear()
    process = start_evertable(orchestrator, "swap", "--join", "left")
    wait_until(orchestrator.was_asked.is_set)
    orchestrator.settle((-1, 3), "applied")
    assert result_of(process)[0] == 0


def test_sources_of_other_names() -> None:
    """``--left-topic`` always works, other keys are the server's; unknown keys are refused before anything is sent."""
    orchestrator = FakeOrchestrator("orders", "items")
    orchestrator.start()
    try:
        sides = ("--left-topic", "o", "--right-topic", "i")
        assert (
            result_of(start_evertable(orchestrator, "swap", *sides, "--set", "joinType = natural", "--no-wait"))[0] == 0
        )
        assert orchestrator.received == [{"ordersTopic": "o", "itemsTopic": "i", "joinType": " natural"}]
        for arguments in (("--users-topic", "u"), ("--set", "orderTopic=o")):
            code, _, errors = result_of(start_evertable(orchestrator, "swap", *arguments, COLUMNS="200"))
            assert (code, "known are ordersTopic, itemsTopic, joinType" in errors) == (2, True)
        assert len(orchestrator.received) == 1
    finally:
        orchestrator.stop()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], "Nothing to change"),
        (["--set", "usersTopic"], "is not KEY=VALUE"),
        (["--set", "=x"], "is not KEY=VALUE"),
        (["--users-topic", "a", "--left-topic", "b"], "usersTopic is given twice"),
        (["--join", "a", "--set", "joinType=b"], "joinType is given twice"),
    ],
)
def test_invalid_options(orchestrator: FakeOrchestrator, arguments: list[str], expected: str) -> None:
    """The exit code is 2, and nothing is sent."""
    code, _, errors = result_of(start_evertable(orchestrator, "swap", *arguments, COLUMNS="200"))
    assert (code, expected in errors, orchestrator.received) == (2, True, [])


def test_an_empty_value_is_sent(orchestrator: FakeOrchestrator) -> None:
    """It means "unchanged", as on the control topic."""
    result_of(start_evertable(orchestrator, "swap", "--users-topic", "", "--no-wait"))
    assert orchestrator.received == [{"usersTopic": ""}]


def test_a_read_only_control_topic(orchestrator: FakeOrchestrator) -> None:
    """The error has the server's condition and message."""
    orchestrator.answer = ControlReadOnlyError("Nobody may write to 'c' from here.")
    for command in (["swap", "--join", "left"], ["rollback"]):
        code, _, errors = result_of(start_evertable(orchestrator, *command))
        assert (code, errors.startswith("[CONTROL_READ_ONLY] Nobody may write")) == (1, True)


def test_a_rollback(orchestrator: FakeOrchestrator) -> None:
    """A rollback is waited for like a swap."""
    process = start_evertable(orchestrator, "rollback")
    wait_until(orchestrator.was_asked.is_set)
    orchestrator.settle((0, 0), "applied")
    assert result_of(process) == (0, "Live. Next: evertable status\n", "")
    expected = (0, "Sent: partition 0, offset 1. Next: evertable status --watch\n", "")
    assert result_of(start_evertable(orchestrator, "rollback", "--no-wait")) == expected


@pytest.mark.parametrize("watched", [True, False], ids=["while watching", "before"])
def test_a_swap_survives_a_restart_of_the_server(orchestrator: FakeOrchestrator, watched: bool) -> None:
    process = start_evertable(orchestrator, "swap", "--join", "left")
    wait_until(orchestrator.was_asked.is_set)
    wait_until(lambda: orchestrator.hub.subscriptions or not watched)
    orchestrator.settle((0, 0), "pending")
    orchestrator.stop()
    orchestrator.start()
    orchestrator.settle((0, 0), "applied")
    assert result_of(process)[0] == 0


def test_an_unreachable_server(orchestrator: FakeOrchestrator) -> None:
    orchestrator.stop()
    for command in (["swap", "--join", "left"], ["rollback"], ["status"], ["status", "--watch"]):
        code, _, errors = result_of(start_evertable(orchestrator, *command))
        assert (code, errors.startswith("[SERVER_UNREACHABLE] ")) == (1, True)


def test_progress_in_a_terminal(orchestrator: FakeOrchestrator) -> None:
    """The terminal shows the build; Ctrl-C ends the command, not the swap."""
    terminal = Terminal(height=20)
    with terminal.run([EVERTABLE, "swap", "--join", "inner"], EVERTABLE_URL=orchestrator.url) as process:
        wait_until(lambda: terminal.shows("Waiting for the swap"))
        orchestrator.set_generation(8, "users_v1", "accounts_v1", "inner", state="warming", rows=1234)
        wait_until(lambda: terminal.shows("generation 8 is warming: users_v1, inner join with accounts_v1, 1,234 rows"))
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) != 0
        assert "Traceback" not in terminal.written
    terminal.close()
