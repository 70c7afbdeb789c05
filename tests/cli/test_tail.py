"""``evertable tail`` against a real server: a live table in a terminal, new rows in a pipe."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.terminal import Terminal
from tests.client.live_server import ADA, BOB, LiveServer
from tests.waiting import wait_until

from evertable.schema.columns import parse_columns
from evertable.tables.bounded import BoundedTable

EVERTABLE = str(Path(sys.executable).with_name("evertable"))
TOKEN, WRONG = "hush", "guess"

REFUSED = "[TOKEN_WRONG] The token is wrong. Correct EVERTABLE_TOKEN, or the file that --token-file names.\n"


@pytest.fixture
def server() -> Iterator[LiveServer]:
    made = LiveServer()
    made.start()
    yield made
    made.stop()


def tail(server: LiveServer, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    command = [EVERTABLE, "tail", *arguments, "--url", server.url]
    env = {**os.environ, **environment}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)


def lines(process: subprocess.Popen[str], count: int) -> list[str]:
    assert process.stdout is not None
    return [process.stdout.readline().rstrip("\n") for _ in range(count)]


def end(process: subprocess.Popen[str], number: int = signal.SIGINT) -> tuple[int, str, str]:
    """Sends a signal, and returns exit code, remaining output and errors."""
    process.send_signal(number)
    output, errors = process.communicate(timeout=30)
    return process.returncode, output, errors


CONTROL_CHARACTERS = "\x1b]0;title\x07 \x9b31m \x7f \u202egnp.exe\u202c \u2028 \ufeff C:\\dir\tend"


@pytest.mark.parametrize("as_json", [False, True])
def test_control_characters_are_escaped_in_a_pipe(server: LiveServer, as_json: bool) -> None:
    """A pipe may end in a terminal; escaped texts can be decoded to the original."""
    server.people.append([(CONTROL_CHARACTERS, *ADA[1:])])
    arguments = ["--json"] if as_json else []
    with tail(server, "people", "--columns", "name", *arguments) as process:
        *_, line = lines(process, 3 if as_json else 4)
        end(process)
    assert all(char.isprintable() for char in line)
    assert (json.loads(line)["name"] if as_json else json.loads(f'"{line}"')) == CONTROL_CHARACTERS


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_in_a_pipe_each_new_or_changed_row_is_a_line(server: LiveServer, number: int) -> None:
    """The newest row comes last, and signals end the command without an error."""
    with tail(server, "people", "--columns", "name,age,balance") as process:
        assert lines(process, 3) == ["name\tage\tbalance", "Ada\t36\t1.5000000000", "Bob\t\t-0.0000000001"]
        server.people.put({"bob": ("Bob", 40, *BOB[2:])})
        assert lines(process, 1) == ["Bob\t40\t-0.0000000001"]
        server.people.append([("a\tb\\\nc", *ADA[1:])])
        assert lines(process, 1) == ["a\\tb\\\\\\nc\t36\t1.5000000000"]
        assert end(process, number) == (0, "", "")


def test_as_json_lines(server: LiveServer) -> None:
    with tail(server, "people", "--json", "--filter", "name = 'Ada'") as process:
        assert json.loads(lines(process, 1)[0]) == {
            "name": "Ada",
            "age": 36,
            "views": str(2**60),
            "score": 0.1,
            "ratio": 1.5,
            "balance": "1.5000000000",
            "born": "1815-12-10",
            "seen": "2026-11-15T20:07:28.123456Z",
            "active": True,
            "extra": '{"a":1}',
        }
        assert end(process) == (0, "", "")


def test_sorted_and_limited(server: LiveServer) -> None:
    with tail(server, "people", "--columns", "name", "--sort", "-name", "--limit", "1") as process:
        assert lines(process, 2) == ["name", "Bob"]
        server.people.append([("Zoe", *ADA[1:])])
        assert lines(process, 1) == ["Zoe"]
        assert end(process) == (0, "", "")


def test_a_new_header_after_a_swap_with_other_columns(server: LiveServer) -> None:
    for generation, name in enumerate(("a", "b"), 1):
        table = BoundedTable(parse_columns({name: "int"}), 10)
        table.append([(generation,)])
        server.catalog.publish(generation, {"later": table})
        if generation == 1:
            process = tail(server, "later")
        assert lines(process, 2) == [name, str(generation)]
    with process:
        assert end(process) == (0, "", "")


def test_a_restart_of_the_server(server: LiveServer) -> None:
    with tail(server, "people", "--columns", "name", "--oldest-first") as process:
        assert lines(process, 3) == ["name", "Ada", "Bob"]
        server.stop()
        server.people.append([("Eve", *ADA[1:])])
        server.start()
        assert lines(process, 1) == ["Eve"]
        assert end(process) == (0, "", "")


@pytest.mark.parametrize(
    ("arguments", "condition"),
    [(["nothing"], "TABLE_NOT_FOUND"), (["people", "--filter", "age >"], "FILTER_INVALID")],
)
def test_refusals_of_the_server(server: LiveServer, arguments: list[str], condition: str) -> None:
    with tail(server, *arguments) as process:
        output, errors = process.communicate(timeout=30)
    assert (process.returncode, output) == (1, "")
    assert errors.startswith(f"[{condition}] ")
    assert "Traceback" not in errors


def test_an_unreachable_server(server: LiveServer) -> None:
    server.stop()
    with tail(server, "people") as process:
        _, errors = process.communicate(timeout=30)
    assert process.returncode == 1
    assert errors.startswith(f"[SERVER_UNREACHABLE] There is no answer from {server.url}")


def test_tokens(tmp_path: Path) -> None:
    """Tokens come from the environment or a file; a wrong one is an error that does not show it."""
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\n")
    server = LiveServer(token=TOKEN)
    server.start()
    try:
        for process in (
            tail(server, "people", EVERTABLE_TOKEN=TOKEN),
            tail(server, "people", "--token-file", str(file), EVERTABLE_TOKEN=WRONG),
        ):
            with process:
                lines(process, 3)
                assert end(process) == (0, "", "")
        with tail(server, "people", EVERTABLE_TOKEN=WRONG) as process:
            _, errors = process.communicate(timeout=30)
        assert (process.returncode, errors) == (1, REFUSED)
        with tail(server, "people", "--token-file", str(tmp_path / "no")) as process:
            assert "[ADDRESS_INVALID]" in process.communicate(timeout=30)[1]
    finally:
        server.stop()


def test_in_a_terminal(server: LiveServer) -> None:
    """The terminal shows a title with the state and as many rows as fit; control characters are escaped."""
    server.people.append([("\x1b[31mred[b]", *ADA[1:]), *((f"name {i}", *ADA[1:]) for i in range(50))])
    terminal = Terminal(height=12)
    command = [EVERTABLE, "tail", "people", "--columns", "name,age", "--oldest-first", "--url", server.url]
    with terminal.run(command) as process:
        wait_until(lambda: terminal.shows("53 rows") and terminal.shows("live"))
        wait_until(lambda: terminal.shows("\\u001b[31mred[b]"))
        wait_until(lambda: terminal.shows("name 2"))
        assert not terminal.shows("name 3")
        terminal.clear()
        terminal.resize(20)
        wait_until(lambda: terminal.shows("name 10"))
        assert not terminal.shows("name 11")
        server.stop()
        wait_until(lambda: terminal.shows("lost") or terminal.shows("connecting"))
        terminal.clear()
        server.start()
        wait_until(lambda: terminal.shows("live"))
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=30) == 0
        wait_until(lambda: terminal.shows("\x1b[?25h"))
        assert "Traceback" not in terminal.written
    terminal.close()


def test_tailing_needs_no_arrow() -> None:
    program = "import sys; import evertable.client; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert {"numpy", "pyarrow", "pyspark", "confluent_kafka", "starlette"} & set(done.stdout.split()) == set()
