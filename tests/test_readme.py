"""The README tells the truth about commands, files and folders."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from evertable.config.columns import parse_columns
from evertable.config.server import Server
from evertable.server.live import create_live_app
from evertable.server.run import ServerThread
from evertable.tables.bounded import BoundedTable
from evertable.tables.catalog import Catalog

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
LINKS = sorted({*re.findall(r"\]\(([^)#:]+)\)", README), *re.findall(r"scripts/\w+", README)})
COMMANDS = sorted(set(re.findall(r"\.venv/bin/evertable (\w+)", README)))


def test_the_table_of_folders_is_the_folder_list() -> None:
    told = set(re.findall(r"^\| `src/evertable/(\w+)/`", README, re.MULTILINE))
    there = {path.parent.name for path in (ROOT / "src/evertable").glob("*/__init__.py")}
    assert told == there


@pytest.mark.parametrize(
    "path", sorted(set(re.findall(r"\]\(([^)#:]+)\)", README)) | set(re.findall(r"scripts/\w+", README)))
)
def test_what_it_points_to_is_there(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize("command", COMMANDS)
def test_its_commands_are_there(command: str) -> None:
    evertable = Path(sys.executable).with_name("evertable")
    assert subprocess.run([evertable, command, "--help"], capture_output=True, check=False).returncode == 0


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

    (block,) = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
    app, _ = create_live_app(Catalog([], {"final_ui": table}), settings)
    with ServerThread(app, settings) as server, pytest.raises(EnoughError):
        exec(block.replace("http://127.0.0.1:10000", server.url), {"print": say})  # noqa: S102 - the README's own
    rows = (("Ada", 120.5), ("Eve", 99.0))
    assert said[0] == (2, rows)
    assert said[2][2] == rows
