"""docs/ARCHITECTURE.md and CONTRIBUTING.md name what is there, and the folders import as they say."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from evertable.generations.life import State

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "evertable"
ARCHITECTURE = (ROOT / "docs" / "ARCHITECTURE.md").read_text()
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
PATHS = re.compile(r"\b(?:src|jvm|web|tests|scripts|benchmarks|examples|docs)/[\w./-]*\w")


@pytest.mark.parametrize("path", sorted(set(PATHS.findall(ARCHITECTURE + CONTRIBUTING))))
def test_every_path_is_there(path: str) -> None:
    assert (ROOT / path).exists()


def told() -> dict[str, set[str]]:
    table = ARCHITECTURE.split("| folder | may import |")[1].split("\n\n")[0]
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", table, re.MULTILINE)
    return {folder: set(re.findall(r"`(\w+)`", others)) for folder, others in rows}


def imported(folder: Path) -> Iterator[str]:
    """Folders of ours that any file in there imports from."""
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module == "evertable":
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("evertable."):
                yield str(node.module).split(".")[1]
            elif isinstance(node, ast.Import):
                yield from (name.name.split(".")[1] for name in node.names if name.name.startswith("evertable."))


@pytest.mark.parametrize("folder", sorted(told()))
def test_a_folder_imports_what_it_may(folder: str) -> None:
    found = {name for name in imported(SOURCE / folder) if (SOURCE / name).is_dir()} - {folder}
    assert found == told()[folder]


def test_every_folder_has_a_line() -> None:
    """But for the command line, which may import everything."""
    assert {*told(), "cli"} == {path.parent.name for path in SOURCE.glob("*/__init__.py")}


def test_the_states_of_a_generation_are_drawn() -> None:
    drawn = ARCHITECTURE.split("## A generation's life")[1].split("```")[1]
    assert {state.value for state in State} - set(re.findall(r"\w+", drawn)) == set()


def test_every_thread_has_a_line() -> None:
    named = {
        name
        for path in SOURCE.rglob("*.py")
        if path.relative_to(SOURCE).parts[0] in ("server", "control", "generations")
        for name in re.findall(
            r'(?:thread_name_prefix|name)(?:: str)? ?= ?"((?:evertable|engine)-[\w-]+)"', path.read_text()
        )
    }
    lines = set(re.findall(r"`((?:evertable|engine)-[\w-]+)`", ARCHITECTURE))
    assert named - lines - {"evertable-server"} == set()  # a server in a thread of its own is for tests and notebooks
    assert lines - named - {"engine-keeper", "evertable-generation"} == set()
