"""Documents for developers name what is there, and packages import one another one way only."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from evertable.generations.lifecycle import GenerationState

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "evertable"
SCRIPT = ROOT / "scripts" / "import_graph.py"
ARCHITECTURE = (ROOT / "docs" / "ARCHITECTURE.md").read_text()
CONTROL = (ROOT / "docs" / "CONTROL.md").read_text()
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
PATHS = re.compile(r"\b(?:src|jvm|web|tests|scripts|benchmarks|examples|docs)/[\w./-]*\w")


@pytest.mark.parametrize("path", sorted(set(PATHS.findall(ARCHITECTURE + CONTRIBUTING))))
def test_every_path_is_there(path: str) -> None:
    assert (ROOT / path).exists()


def test_the_table_of_folders_is_the_folder_list() -> None:
    listed = set(re.findall(r"^\| `src/evertable/(\w+)/`", ARCHITECTURE, re.MULTILINE))
    assert listed == {path.parent.name for path in SOURCE.glob("*/__init__.py")}


def test_packages_import_one_way_only_as_the_picture_shows() -> None:
    drawn = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=False)
    assert drawn.returncode == 0, drawn.stderr
    assert drawn.stdout.strip() in ARCHITECTURE, f"put the output of {SCRIPT.name} into docs/ARCHITECTURE.md"


def test_a_cycle_is_found(tmp_path: Path) -> None:
    for package, other in (("one", "two"), ("two", "one")):
        (tmp_path / package).mkdir()
        (tmp_path / package / "module.py").write_text(f"from evertable.{other} import module\n")
    script = tmp_path / SCRIPT.name
    script.write_text(re.sub(r"(?m)^SOURCE = .*", f"SOURCE = Path({str(tmp_path)!r})", SCRIPT.read_text()))
    drawn = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert drawn.returncode == 1
    assert "one -> two -> one" in drawn.stderr or "two -> one -> two" in drawn.stderr


def test_the_states_of_a_generation_are_drawn() -> None:
    drawn = CONTROL.split("## A generation's life")[1].split("```")[1]
    assert {state.value for state in GenerationState} - set(re.findall(r"\w+", drawn)) == set()


def test_every_thread_has_a_line() -> None:
    named = {
        name
        for path in SOURCE.rglob("*.py")
        if path.relative_to(SOURCE).parts[0] in ("server", "live", "control", "generations", "background.py")
        for name in re.findall(
            r'(?:thread_name_prefix|name)(?:: str)? ?= ?"((?:evertable|engine)-[\w-]+)"', path.read_text()
        )
    }
    lines = set(re.findall(r"`((?:evertable|engine)-[\w-]+)`", ARCHITECTURE))
    assert named - lines - {"evertable-server"} == set()  # a server in a thread of its own is for tests and notebooks
    assert lines - named - {"engine-keeper", "evertable-generation"} == set()
