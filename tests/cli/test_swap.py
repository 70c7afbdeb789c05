"""``evertable swap`` and ``evertable rollback`` against a real server."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
from tests.cli.playing import EVERTABLE, Played, ended, evertable
from tests.cli.test_tail import Terminal
from tests.waiting import wait_until

from evertable.errors import ControlReadOnlyError


@pytest.fixture
def played() -> Iterator[Played]:
    made = Played()
    made.start()
    yield made
    made.stop()


def test_a_swap_is_waited_for(played: Played) -> None:
    """What is not said is not sent; the end tells what is live."""
    process = evertable(played, "swap", "--users-topic", "users_v2", "--join", "Inner")
    wait_until(played.heard.is_set)
    assert played.asked == [{"usersTopic": "users_v2", "joinType": "Inner"}]
    played.settle((0, 0), "pending")
    played.live("users_v2", "accounts_v1", "inner", generation=7)
    played.settle((0, 0), "applied")
    live = "Live: users_v2, inner join with accounts_v1, generation 7. Next: evertable status\n"
    assert ended(process) == (0, live, "")


def test_a_swap_may_be_forced_and_what_looks_odd_is_printed(played: Played) -> None:
    process = evertable(played, "swap", "--users-topic", "users_v2", "--force")
    wait_until(played.heard.is_set)
    assert played.asked == [{"usersTopic": "users_v2", "force": True}]
    played.settle((0, 0), "applied", "No row of 'users_v2' matches any row of 'accounts_v1'.")
    code, out, _ = ended(process)
    assert code == 0
    assert out.endswith("\nWarning: No row of 'users_v2' matches any row of 'accounts_v1'.\n")


def test_an_unchanged_wiring_is_live(played: Played) -> None:
    process = evertable(played, "swap", "--accounts-topic", "accounts_v1")
    wait_until(played.heard.is_set)
    played.settle((0, 0), "unchanged")
    assert ended(process) == (0, "Nothing changed. Next: evertable status\n", "")


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (
            "rejected",
            "[SWAP_REJECTED] The swap was rejected, and what was live stays live. TOPIC_NOT_FOUND: no 'x'. Correct",
        ),
        (
            "held",
            "[SWAP_HELD] The swap is held back because what it would show looks wrong; what was live stays live. TOPIC",
        ),
        ("failed", "[SWAP_FAILED] The swap failed, and what was live stays live. TOPIC_NOT_FOUND: no 'x'."),
        ("superseded", "[SWAP_SUPERSEDED] A newer control message came before the swap was live. TOPIC_NOT_FOUND"),
        ("exploded", "[SWAP_EXPLODED] The swap ended as 'exploded'. TOPIC_NOT_FOUND: no 'x'."),
    ],
)
def test_a_swap_that_does_not_become_live(played: Played, result: str, said: str) -> None:
    """Ends with 1 and the reason."""
    process = evertable(played, "swap", "--set", "usersTopic=x")
    wait_until(played.heard.is_set)
    played.settle((0, 0), result, "TOPIC_NOT_FOUND: no 'x'.")
    code, out, errors = ended(process)
    assert (code, out, errors[: len(said)]) == (1, "", said)


def test_time_runs_out(played: Played) -> None:
    """Which is not the end of the swap."""
    code, _, errors = ended(evertable(played, "swap", "--join", "asof", "--timeout", "0.1"))
    assert (code, errors.startswith("[SWAP_PENDING] The swap is not live yet. It goes on")) == (1, True)


def test_not_waiting(played: Played) -> None:
    """Says where the message stands."""
    told = (0, "Sent: partition 0, offset 0. Next: evertable status --watch\n", "")
    assert ended(evertable(played, "swap", "--no-wait", "--join", "asof")) == told


def test_without_a_control_topic(played: Played) -> None:
    """What is known at once is told at once, waiting or not; what is pending has its row all the same."""
    played.direct = True
    played.answer = {"result": "rejected", "reason": "UNKNOWN_JOIN_TYPE: 'x'."}
    for wait in ("--wait", "--no-wait"):
        code, _, errors = ended(evertable(played, "swap", "--join", "x", wait))
        assert (code, "UNKNOWN_JOIN_TYPE" in errors) == (1, True)
    played.answer = {"result": "pending", "reason": ""}
    assert (
        ended(evertable(played, "swap", "--join", "left", "--no-wait"))[1] == "Sent. Next: evertable status --watch\n"
    )
    played.heard.clear()
    process = evertable(played, "swap", "--join", "left")
    wait_until(played.heard.is_set)
    played.settle((-1, 3), "applied")
    assert ended(process)[0] == 0


def test_sources_of_other_names() -> None:
    """Sides always work, names are those of the server's; a wrong one is refused before anything is sent."""
    played = Played("orders", "items")
    played.start()
    try:
        sides = ("--left-topic", "o", "--right-topic", "i")
        assert ended(evertable(played, "swap", *sides, "--set", "joinType = natural", "--no-wait"))[0] == 0
        assert played.asked == [{"ordersTopic": "o", "itemsTopic": "i", "joinType": " natural"}]
        for arguments in (("--users-topic", "u"), ("--set", "orderTopic=o")):
            code, _, errors = ended(evertable(played, "swap", *arguments, COLUMNS="200"))
            assert (code, "known are ordersTopic, itemsTopic, joinType" in errors) == (2, True)
        assert len(played.asked) == 1
    finally:
        played.stop()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "Say what to change"),
        (["--set", "usersTopic"], "is no KEY=VALUE"),
        (["--set", "=x"], "is no KEY=VALUE"),
        (["--users-topic", "a", "--left-topic", "b"], "usersTopic is given twice"),
        (["--join", "a", "--set", "joinType=b"], "joinType is given twice"),
    ],
)
def test_what_cannot_be_meant(played: Played, arguments: list[str], said: str) -> None:
    """Exit code 2, and nothing is sent."""
    code, _, errors = ended(evertable(played, "swap", *arguments, COLUMNS="200"))
    assert (code, said in errors, played.asked) == (2, True, [])


def test_an_empty_value_is_sent(played: Played) -> None:
    """It means "as it is", also on the control topic."""
    ended(evertable(played, "swap", "--users-topic", "", "--no-wait"))
    assert played.asked == [{"usersTopic": ""}]


def test_who_may_not(played: Played) -> None:
    """The server's condition and sentence."""
    played.answer = ControlReadOnlyError("Nobody may write to 'c' from here.")
    for command in (["swap", "--join", "left"], ["rollback"]):
        code, _, errors = ended(evertable(played, *command))
        assert (code, errors.startswith("[CONTROL_READ_ONLY] Nobody may write")) == (1, True)


def test_a_rollback(played: Played) -> None:
    """The same, without anything to say."""
    process = evertable(played, "rollback")
    wait_until(played.heard.is_set)
    played.settle((0, 0), "applied")
    assert ended(process) == (0, "Live. Next: evertable status\n", "")
    told = (0, "Sent: partition 0, offset 1. Next: evertable status --watch\n", "")
    assert ended(evertable(played, "rollback", "--no-wait")) == told


@pytest.mark.parametrize("watched", [True, False], ids=["while watching", "before"])
def test_a_restart_of_the_server_is_lived_through(played: Played, watched: bool) -> None:
    process = evertable(played, "swap", "--join", "left")
    wait_until(played.heard.is_set)
    wait_until(lambda: played.hub.subscriptions or not watched)
    played.settle((0, 0), "pending")
    played.stop()
    played.start()
    played.settle((0, 0), "applied")
    assert ended(process)[0] == 0


def test_nobody_there(played: Played) -> None:
    played.stop()
    for command in (["swap", "--join", "left"], ["rollback"], ["status"], ["status", "--watch"]):
        code, _, errors = ended(evertable(played, *command))
        assert (code, errors.startswith("[SERVER_UNREACHABLE] ")) == (1, True)


def test_progress_in_a_terminal(played: Played) -> None:
    """Says what is being built; Ctrl-C ends the waiting, not the swap."""
    terminal = Terminal(height=20)
    with terminal.run([EVERTABLE, "swap", "--join", "inner"], EVERTABLE_URL=played.url) as process:
        wait_until(lambda: terminal.shows("Waiting for the swap"))
        played.generation(8, "users_v1", "accounts_v1", "inner", state="warming", rows=1234)
        wait_until(lambda: terminal.shows("generation 8 is warming: users_v1, inner join with accounts_v1, 1,234 rows"))
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) != 0
        assert "Traceback" not in terminal.written
    terminal.close()
