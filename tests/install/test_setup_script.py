"""scripts/setup does nothing on a tree that is ready, and reports that."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from evertable.install import prepare

ROOT = Path(__file__).parents[2]


def test_a_second_run_finds_nothing_to_do() -> None:
    prepare()
    stamp = ROOT / ".venv" / ".evertable-setup"
    before = stamp.stat().st_mtime_ns
    done = subprocess.run([ROOT / "scripts/setup"], check=True, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert lines[0] == "Java, jars, join operator:"
    assert lines[2:-3] == ["  engine jars: 2 in place", "  broker jars: 46 in place", "  ecj jars: 1 in place"]
    assert lines[-2] == "Web page:"  # and nothing to be done for it
    assert lines[-1] == "Ready. Next: scripts/test, or .venv/bin/evertable --help"
    assert stamp.stat().st_mtime_ns == before


def test_the_locks_name_no_download_address_and_hash_everything() -> None:
    for file in ROOT.glob("requirements*.lock"):
        text = file.read_text()
        assert "://" not in text
        assert "--index-url" not in text
        for requirement in text.replace("\\\n", "").splitlines():
            assert "--hash=sha256:" in requirement, f"{file.name}: {requirement}"


def test_the_packages_of_the_web_are_locked_in_the_same_way() -> None:
    text = (ROOT / "web" / "package-lock.json").read_text()
    assert "://" not in text
    packages = json.loads(text)["packages"]
    fetched = {name: package for name, package in packages.items() if "node_modules/" in name and "link" not in package}
    assert len(fetched) > 100
    assert [name for name, package in fetched.items() if "integrity" not in package] == []
