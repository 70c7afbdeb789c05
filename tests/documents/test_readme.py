"""The README tells the truth: its commands are typed, its Python is run, its files are there."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pyarrow.parquet as parquet
import pytest
from tests.documents.pages import ROOT, Step, blocks, steps
from tests.documents.reader import Reader, told_otherwise
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
    """Somebody with one record in each topic, who has typed all of it and left the server running."""
    with Reader(tmp_path_factory.mktemp("own-topics")) as somebody:
        (settings,) = blocks(README, "yaml")
        somebody.write("evertable.yaml", settings)
        for step in (*OWN_KAFKA, *steps(README)):
            if not step.command.startswith(tuple(NOT_TYPED)):
                somebody.type(step)
        yield somebody


def test_every_command_does_its_work(reader: Reader) -> None:
    assert told_otherwise(reader.typed) == ""
    typed = {typed.step.command.split("evertable ")[-1].split()[0] for typed in reader.typed}
    assert typed >= {"check", "serve", "curl", "tail", "export", "swap", "rollback", "status"}


def test_what_the_commands_show(reader: Reader) -> None:
    """Of the one pair of records that was sent."""
    said = {typed.step.command.split("  ")[0]: typed.said for typed in reader.typed}
    rows = next(text for command, text in said.items() if command.startswith("curl"))
    assert json.loads(rows[rows.index("{") :])["rows"] == [["Ada", 120.5]]
    assert "u1\tAda\tada@example.org\t36\tchq\t120.5" in reader.terminal("tail final_ui").lines
    whole = parquet.read_table(reader.folder / "final.parquet")
    assert whole.select(["name", "balance"]).to_pylist() == [{"name": "Ada", "balance": 120.5}]
    assert "natural join" in said[".venv/bin/evertable swap --join natural"]
    assert "users_v1, left join with accounts_v1" in said[".venv/bin/evertable status"]


@pytest.mark.parametrize("script", sorted(set(re.findall(r"scripts/\w+", README))))
def test_its_scripts_are_there(script: str) -> None:
    assert (ROOT / script).is_file()


def test_nothing_is_left_to_fill_in() -> None:
    documents = [README, *(path.read_text() for path in (ROOT / "docs").glob("*.md"))]
    assert [word for text in documents for word in ("FIGURES", "TODO") if word in text] == []


class EnoughError(Exception):
    """A watch would go on for ever."""


def test_its_python_runs() -> None:
    """Against a server with such a table; the third thing that it prints is the first page of a watch."""
    table = BoundedTable(parse_columns({"name": "string", "balance": "double"}), 10)
    table.append([("Ada", 120.5), ("Eve", 99.0)])
    settings = Server(port=0)
    said: list[tuple[object, ...]] = []

    def say(*what: object) -> None:
        said.append(what)
        if len(said) == 3:
            raise EnoughError

    (block,) = blocks(README, "python")
    app = App(Catalog([], {"final_ui": table}), settings)
    with ServerThread(app, settings) as server, pytest.raises(EnoughError):
        exec(block.replace("http://127.0.0.1:10000", server.url), {"print": say})  # noqa: S102 - the README's own
    rows = (("Ada", 120.5), ("Eve", 99.0))
    assert said[0] == (2, rows)
    assert said[2][2] == rows
