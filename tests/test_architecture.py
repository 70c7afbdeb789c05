"""Documents for developers are up to date, and packages and folders of tests import one way only."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from evertable.generations.lifecycle import GenerationState

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "evertable"
TESTS = ROOT / "tests"
SCRIPT = ROOT / "scripts" / "import_graph.py"
ARCHITECTURE = (ROOT / "docs" / "ARCHITECTURE.md").read_text()
CONTROL = (ROOT / "docs" / "CONTROL.md").read_text()
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
BEYOND_PACKAGES = {"benchmarks", "chaos", "cluster", "documents", "jvm", "reference", "serving"}
"""Folders of tests without a package of that name."""
OF_STRUCTURE = {"architecture", "imports"}
PATHS = re.compile(r"\b(?:src|jvm|web|tests|scripts|benchmarks|examples|docs)/[\w./-]*\w")
THREAD_NAMES = re.compile(
    r"(?:(?:thread_name_prefix|name)(?:: str)? ?= ?|(?:run_in_background|ThreadPoolExecutor)\(.*, )"
    r'"((?:evertable|engine)-[\w-]+)"'
)


@pytest.mark.parametrize("path", sorted(set(PATHS.findall(ARCHITECTURE + CONTRIBUTING))))
def test_every_path_exists(path: str) -> None:
    assert (ROOT / path).exists()


def test_the_table_of_folders_is_the_folder_list() -> None:
    listed = set(re.findall(r"^\| `src/evertable/(\w+)/`", CONTRIBUTING, re.MULTILINE))
    assert listed == {path.parent.name for path in SOURCE.glob("*/__init__.py")}


def test_packages_import_one_way_only_as_drawn() -> None:
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
    named = {name for path in SOURCE.rglob("*.py") for name in THREAD_NAMES.findall(path.read_text())}
    lines = set(re.findall(r"`((?:evertable|engine)-[\w-]+)`", ARCHITECTURE))
    assert named - lines - {"evertable-server"} == set()  # a server in a thread of its own is for tests and notebooks
    assert lines - named == set()


def imported_tests(path: Path) -> list[Path]:
    """Lists the modules of tests/ that a file imports."""
    nodes = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom) and node.module]
    names = [f"{node.module}{end}" for node in nodes for end in ("", *(f".{alias.name}" for alias in node.names))]
    files = [ROOT.joinpath(*name.split(".")).with_suffix(".py") for name in names if name.startswith("tests.")]
    return [file for file in files if file.exists()]


def test_no_test_module_is_imported() -> None:
    """Tests share helpers; a conftest belongs to its own folder."""
    imports = [(path, other) for path in TESTS.rglob("*.py") for other in imported_tests(path)]
    assert [pair for pair in imports if pair[1].name.startswith("test_")] == []
    assert [pair for pair in imports if pair[1].name == "conftest.py" and pair[1].parent != pair[0].parent] == []


def test_folders_of_tests_import_one_way_only() -> None:
    graph: dict[str, set[str]] = {}
    for path in TESTS.rglob("*.py"):
        here, *others = (each.relative_to(TESTS).parts[0] for each in (path, *imported_tests(path)))
        graph.setdefault(here, set()).update(set(others) - {here})
    assert list(TopologicalSorter(graph).static_order())  # CycleError names a circle


def test_tests_mirror_the_source() -> None:
    packages = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert {path.name for path in TESTS.iterdir() if any(path.glob("*.py"))} <= packages | BEYOND_PACKAGES
    tested = {path.stem.removeprefix("test_") for path in TESTS.glob("test_*.py")} - OF_STRUCTURE
    assert {name for name in tested if not any((root / f"{name}.py").exists() for root in (SOURCE, TESTS))} == set()
