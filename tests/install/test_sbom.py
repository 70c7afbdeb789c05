"""The software bill of materials: all that the lock files pin, with licences and hashes, in the wheel."""

from __future__ import annotations

import base64
import importlib.util
import json
import re
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from evertable.install.jars import LOCK_FILE, read_lock
from evertable.install.operator import operator_jar

ROOT = Path(__file__).parents[2]
SBOM = ROOT / "sbom.cdx.json"
TEXT = SBOM.read_text(encoding="utf-8")
DOCUMENT: dict[str, Any] = json.loads(TEXT)
COMPONENTS: list[dict[str, Any]] = DOCUMENT["components"]
LENGTHS = {"SHA-1": 40, "SHA-256": 64, "SHA-384": 96, "SHA-512": 128}


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("sbom", ROOT / "scripts" / "sbom.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def listed(kind: str) -> set[tuple[str, str, frozenset[str]]]:
    """Name, version and hashes of each component of a kind."""
    return {
        (
            "/".join(filter(None, (one.get("group"), one["name"]))),
            one["version"],
            frozenset(each["content"] for each in one["hashes"]),
        )
        for one in COMPONENTS
        if one["purl"].startswith(f"pkg:{kind}/")
    }


def test_it_lists_the_python_packages_that_are_pinned() -> None:
    text = (ROOT / "requirements.lock").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if "==" in line]
    pinned = [(*re.split("==| ", line)[:2], frozenset(re.findall(r"sha256:(\w+)", line))) for line in lines]
    assert listed("pypi") == {(name, version, hashes) for name, version, hashes in pinned}


def test_it_lists_the_jars_that_are_pinned() -> None:
    pinned = [(jar.coordinate, frozenset([jar.sha256])) for jar in read_lock(LOCK_FILE)]
    assert listed("maven") == {(f"{one.group}/{one.artifact}", one.version, digest) for one, digest in pinned}


def test_it_lists_the_npm_packages_that_are_pinned() -> None:
    packages = json.loads((ROOT / "web" / "package-lock.json").read_text())["packages"]
    pinned = [(path.split("node_modules/")[-1], one) for path, one in packages.items() if "integrity" in one]
    assert listed("npm") == {
        (
            one.get("name", name),
            one["version"],
            frozenset([base64.b64decode(one["integrity"].partition("-")[2]).hex()]),
        )
        for name, one in pinned
    }


def test_each_component_has_a_licence_and_hashes() -> None:
    """CycloneDX 1.6 requires that an expression stands alone and a scope is one of three."""
    for one in COMPONENTS:
        licences, hashes = one["licenses"], one["hashes"]
        assert hashes, one
        assert all(re.fullmatch(f"[0-9a-f]{{{LENGTHS[each['alg']]}}}", each["content"]) for each in hashes), one
        named = [each["license"].get("id") or each["license"]["name"] for each in licences if "license" in each]
        expressions = [each["expression"] for each in licences if "expression" in each]
        assert all(named + expressions), one
        assert (len(named) > 0, len(expressions)) in ((True, 0), (False, 1)), one
        assert one["scope"] in ("required", "optional", "excluded"), one
        assert (one["type"], one["bom-ref"]) == ("library", one["purl"]), one


def test_the_document() -> None:
    assert (DOCUMENT["bomFormat"], DOCUMENT["specVersion"], DOCUMENT["version"]) == ("CycloneDX", "1.6", 1)
    references = [one["bom-ref"] for one in COMPONENTS]
    assert len(set(references)) == len(references)


def test_nothing_in_it_changes_without_the_lock_files(script: ModuleType) -> None:
    """No time, no serial number, no address; what is written again is the same."""
    assert "://" not in TEXT
    assert not {"serialNumber", "timestamp"} & {*DOCUMENT, *DOCUMENT["metadata"]}
    assert script.rendered(reversed(COMPONENTS)) == TEXT


@pytest.mark.parametrize(
    ("named", "licences"),
    [
        (["The Apache Software License, Version 2.0"], [{"license": {"id": "Apache-2.0"}}]),
        (["Apache License 2.0", "Apache-2.0"], [{"license": {"id": "Apache-2.0"}}]),
        (["MIT", "BSD 2-Clause License"], [{"license": {"id": "MIT"}}, {"license": {"id": "BSD-2-Clause"}}]),
        (["(Apache-2.0 AND BSD-3-Clause)"], [{"expression": "Apache-2.0 AND BSD-3-Clause"}]),
        (["MPL-2.0 AND (Apache-2.0 OR MIT)"], [{"expression": "MPL-2.0 AND (Apache-2.0 OR MIT)"}]),
        (["Go License"], [{"license": {"name": "Go License"}}]),
    ],
)
def test_licences_are_named_as_spdx_does(script: ModuleType, named: list[str], licences: list[dict[str, Any]]) -> None:
    assert script.licensed(named) == licences


def test_the_wheel_carries_it(tmp_path: Path) -> None:
    operator_jar()
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    [wheel] = tmp_path.glob("evertable-*.whl")
    with zipfile.ZipFile(wheel) as files:
        [name] = [name for name in files.namelist() if name.endswith("sbom.cdx.json")]
        assert re.fullmatch(r"evertable-[^/]+\.dist-info/sboms/sbom\.cdx\.json", name)
        assert files.read(name).decode() == TEXT
