"""For maintainers: writes sbom.cdx.json, the software bill of materials in CycloneDX, from the lock files.

It lists what the lock files pin, with versions and hashes. Licences are read from the metadata of Python packages, from
the poms of the jars, and from web/package-lock.json. There is no time, no random number and no address in it: the same
lock files give the same file.
"""

import base64
import importlib.metadata
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

from evertable.install import ivy
from evertable.install.jars import LOCK_FILE, SETS, read_lock

ROOT = Path(__file__).parents[1]
SBOM = ROOT / "sbom.cdx.json"
SCOPES = ("required", "optional", "excluded")  # of CycloneDX; excluded: only for building

# Names of licences in poms and Python's classifiers, without "the", "license", "version" and punctuation.
SPDX = {
    "apache 2.0": "Apache-2.0",
    "apache software": "Apache-2.0",
    "apache software 2.0": "Apache-2.0",
    "bsd 2-clause": "BSD-2-Clause",
    "bsd 3-clause": "BSD-3-Clause",
    "isc": "ISC",
    "isc iscl": "ISC",
    "mit": "MIT",
    "mozilla public 2.0 mpl 2.0": "MPL-2.0",
    "public domain per creative commons cc0": "CC0-1.0",
}
Component = dict[str, Any]


def main() -> None:
    components = merged([*python_packages(), *jars(), *npm_packages()])
    SBOM.write_text(rendered(components), encoding="utf-8")
    print(f"{SBOM.name}: {len(components)} components")


def rendered(components: Iterable[Component]) -> str:
    """Returns the whole document."""
    document = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": "pkg:pypi/evertable",
                "name": "evertable",
                "licenses": [{"license": {"id": "Apache-2.0"}}],
                "purl": "pkg:pypi/evertable",
            }
        },
        "components": sorted(components, key=lambda component: str(component["purl"])),
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def component(purl: str, name: str, version: str, hashes: Iterable[tuple[str, str]], **more: Any) -> Component:
    listed = [{"alg": algorithm, "content": digest} for algorithm, digest in sorted(hashes)]
    return {
        "type": "library",
        "bom-ref": purl,
        **more,
        "name": name,
        "version": version,
        "hashes": listed,
        "purl": purl,
    }


def merged(components: Iterable[Component]) -> list[Component]:
    """Keeps one of each package: one that is pinned in several places has the widest scope of them."""
    found: dict[str, Component] = {}
    for one in components:
        other = found.setdefault(one["purl"], one)
        if SCOPES.index(one["scope"]) < SCOPES.index(other["scope"]):
            found[one["purl"]] = one
    return list(found.values())


def licensed(texts: Iterable[str]) -> list[dict[str, Any]]:
    """Returns CycloneDX's form of licences: an SPDX id or expression where there is one, else the name."""
    found: list[dict[str, Any]] = []
    for text in dict.fromkeys(texts):
        plain = re.sub(r"[,()]|\b(the|licen[cs]e|version|v(?=\d))\b", " ", text.lower())
        known = SPDX.get(" ".join(plain.split()))
        if known is None and re.search(r" (AND|OR|WITH) ", text):
            return [{"expression": text.strip("()") if text.count("(") == 1 and text.startswith("(") else text}]
        is_id = known or re.fullmatch(r"[A-Za-z0-9.]+(-[A-Za-z0-9.]+)+|MIT|ISC|0BSD|Zlib", text)
        found.append({"license": {"id": known or text} if is_id else {"name": text}})
    return [each for index, each in enumerate(found) if each not in found[:index]]


# --- Python


def python_packages() -> Iterator[Component]:
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    for name, version, rest in re.findall(r"^([\w.-]+)==(\S+)((?:.*\\\n)*.*)", text, re.MULTILINE):
        hashes = [("SHA-256", digest) for digest in re.findall(r"sha256:(\w+)", rest)]
        licences = licensed(_python_licences(_metadata(name, version)))
        scope = "optional" if ";" in rest.splitlines()[0] else "required"  # for some platforms or versions of Python
        yield component(f"pkg:pypi/{name}@{version}", name, version, hashes, scope=scope, licenses=licences)


def _metadata(name: str, version: str) -> Any:
    """Returns the metadata of a package, which is downloaded if it is not installed."""
    try:
        if importlib.metadata.version(name) == version:
            return importlib.metadata.metadata(name)
    except importlib.metadata.PackageNotFoundError:
        pass
    with tempfile.TemporaryDirectory(prefix="evertable-sbom-") as folder:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder]
        command += ["--only-binary=:all:", "--python-version", "3.12", f"{name}=={version}"]
        subprocess.run(command, check=True)
        [found] = importlib.metadata.distributions(path=[str(wheel) for wheel in Path(folder).iterdir()])
        return found.metadata


def _python_licences(metadata: Any) -> list[str]:
    if expression := metadata.get("License-Expression"):
        return [expression]
    classified = [line.rpartition(" :: ")[2] for line in metadata.get_all("Classifier", []) if "License ::" in line]
    named = (metadata.get("License") or "").strip()
    if named and "\n" not in named and len(named) < 40:
        return [named]
    return classified


# --- jars


def jars() -> Iterator[Component]:
    locked = read_lock(LOCK_FILE)
    for name in SETS:
        wanted = [jar for jar in locked if jar.set_name == name]
        with tempfile.TemporaryDirectory(prefix="evertable-sbom-") as scratch:
            folder = Path(scratch)
            ivy.retrieve([jar.coordinate for jar in wanted], folder / "jars", descriptors=folder / "poms")
            for jar in wanted:
                one = jar.coordinate
                pom = ElementTree.parse(folder / "poms" / one.group / one.artifact / one.version / "ivy.xml")  # noqa: S314 - Ivy's
                licences = licensed(each.attrib["name"] for each in pom.iter("license"))
                purl = f"pkg:maven/{one.group}/{one.artifact}@{one.version}"
                more = {"scope": "excluded" if name == "ecj" else "required", "group": one.group, "licenses": licences}
                yield component(purl, one.artifact, one.version, [("SHA-256", jar.sha256)], **more)


# --- npm


def npm_packages() -> Iterator[Component]:
    lock = json.loads((ROOT / "web" / "package-lock.json").read_text(encoding="utf-8"))
    for path, package in lock["packages"].items():
        if "integrity" not in package:  # ours
            continue
        full = package.get("name") or path.rpartition("node_modules/")[2]
        scope = "excluded" if package.get("dev") else "optional" if package.get("optional") else "required"
        algorithm, _, digest = package["integrity"].partition("-")
        hashes = [(f"SHA-{algorithm.removeprefix('sha')}", base64.b64decode(digest).hex())]
        purl = f"pkg:npm/{quote(full)}@{package['version']}".replace("npm/@", "npm/%40")
        group, _, name = full.rpartition("/")
        more = {"group": group} if group else {}
        licences = licensed([package["license"]])
        yield component(purl, name, package["version"], hashes, scope=scope, **more, licenses=licences)


if __name__ == "__main__":
    main()
