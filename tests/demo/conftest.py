"""Evertable installed from its wheel into a new environment."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def evertable(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Installs the wheel into a new environment, and returns its ``evertable`` command."""
    folder = tmp_path_factory.mktemp("installed")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder), cwd=ROOT)
    [wheel] = folder.glob("evertable-*.whl")
    run(sys.executable, "-m", "venv", str(folder / "venv"), cwd=folder)
    pip = [str(folder / "venv/bin/python"), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    run(*pip, "--require-hashes", "-r", str(ROOT / "requirements-build.lock"), cwd=folder)
    locked = ["--no-build-isolation", "--require-hashes", "-r", str(ROOT / "requirements.lock")]
    run(*pip, *locked, cwd=folder)
    run(*pip, "--no-deps", str(wheel), cwd=folder)
    return folder / "venv/bin/evertable"


def run(*command: str, cwd: Path) -> None:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
