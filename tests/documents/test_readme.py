"""The README is correct: its commands and its Python run, and its files exist."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pyarrow.parquet as parquet
import pytest
from tests.documents.reader import Reader, differences
from tests.markdown import ROOT, Step, blocks, steps
from tests.server_thread import ServerThread

from evertable.config.server import Server
from evertable.schema.columns import parse_columns
from evertable.server.app import App
from evertable.tables.bounded import BoundedTable
from evertable.tables.catalog import Catalog

README = (ROOT / "README.md").read_text()

NOT_TYPED = {
    "scripts/demo": "tests/demo runs the demo from the wheel; the script is run in a bare clone before a release",
    "scripts/setup": "it sets up the clone that runs this test; tests/install/test_setup_script.py runs it",
}

OWN_KAFKA = (
    Step(".venv/bin/evertable broker --auto-create"),
    Step(
        """.venv/bin/evertable send users_v1 '{"userId": "u1", "name": "Ada", "email": "ada@example.org", "age": 36}'"""
    ),
    Step(""".venv/bin/evertable send accounts_v1 '{"userId": "u1", "accountType": "chq", "balance": 120.5}'"""),
)


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """Types all commands, with one record in each topic, and leaves the server running."""
    with Reader(tmp_path_factory.mktemp("own-topics")) as typist:
        (settings,) = blocks(README, "yaml")
        typist.write("evertable.yaml", settings)
        for step in (*OWN_KAFKA, *steps(README)):
            if not step.command.startswith(tuple(NOT_TYPED)):
                typist.type(step)
        yield typist


def test_every_command_works(reader: Reader) -> None:
    assert differences(reader.typed) == ""
    typed = {typed.step.command.split("evertable ")[-1].split()[0] for typed in reader.typed}
    assert typed >= {"check", "serve", "curl", "tail", "export", "swap", "rollback", "status"}


def test_what_the_commands_show(reader: Reader) -> None:
    """They show the pair of records that was sent."""
    outputs = {typed.step.command.split("  ")[0]: typed.output for typed in reader.typed}
    rows = next(text for command, text in outputs.items() if command.startswith("curl"))
    assert json.loads(rows[rows.index("{") :])["rows"] == [["Ada", 120.5]]
    assert "u1\tAda\tada@example.org\t36\tchq\t120.5" in reader.terminal("tail final_ui").lines
    whole = parquet.read_table(reader.folder / "final.parquet")
    assert whole.select(["name", "balance"]).to_pylist() == [{"name": "Ada", "balance": 120.5}]
    assert "natural join" in outputs[".venv/bin/evertable swap --join natural"]
    assert "users_v1, left join with accounts_v1" in outputs[".venv/bin/evertable status"]


@pytest.mark.parametrize("script", sorted(set(re.findall(r"scripts/\w+", README))))
def test_its_scripts_exist(script: str) -> None:
    assert (ROOT / script).is_file()


def test_no_placeholder_is_left() -> None:
    documents = [README, *(path.read_text() for path in (ROOT / "docs").glob("*.md"))]
    assert [word for text in documents for word in ("FIGURES", "TODO") if word in text] == []


class EnoughError(Exception):
    """Ends an endless watch."""


def test_its_python_runs() -> None:
    """The server has such a table; the third line of output is the first page of a watch."""
    table = BoundedTable(parse_columns({"name": "string", "balance": "double"}), 10)
    table.append([("Ada", 120.5), ("Eve", 99.0)])
    settings = Server(port=0)
    printed: list[tuple[object, ...]] = []

    def print_(*what: object) -> None:
        printed.append(what)
        if len(printed) == 3:
            raise EnoughError

    (block,) = blocks(README, "python")
    app = App(Catalog([], {"final_ui": table}), settings)
    with ServerThread(app, settings) as server, pytest.raises(EnoughError):
        exec(block.replace("http://127.0.0.1:10000", server.url), {"print": print_})  # noqa: S102 - the README's
    rows = (("Ada", 120.5), ("Eve", 99.0))
    assert printed[0] == (2, rows)
    assert printed[2][2] == rows
