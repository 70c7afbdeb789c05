"""The README tells the truth about commands, files and folders."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

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
