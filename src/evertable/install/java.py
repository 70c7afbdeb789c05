"""Finds the Java that runs Spark and the broker: JAVA_HOME, then PATH."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from evertable.errors import JavaNotFoundError, JavaTooOldError, SetupError
from evertable.install.environment import PROXIES, child_environment

OLDEST = 17  # required by Spark 4.3 and Kafka 4.3
_INSTALL_HINT = (
    f"Install Java {OLDEST} or newer (Debian, Ubuntu: apt-get install openjdk-17-jre-headless or a later one; "
    "macOS: brew install openjdk@21), or set JAVA_HOME to one."
)
_DEBIAN_PACKAGES = ("openjdk-17-jre-headless", "default-jre-headless")  # Debian 13 has no 17 any more


@dataclass(frozen=True)
class Java:
    """One Java runtime on this machine."""

    executable: Path
    home: Path
    major: int
    version: str = field(default="", compare=False)
    """The full version: 17.0.12."""


def find_java() -> Java:
    """Returns the Java to use; a JAVA_HOME that is set but unusable is an error, never ignored."""
    if home := os.environ.get("JAVA_HOME"):
        executable = Path(home).absolute() / "bin" / "java"
        if not os.access(executable, os.X_OK):
            raise JavaNotFoundError(f"JAVA_HOME is {home}, but there is no bin/java in it.", "Correct or unset it.")
        try:
            return _probe(executable)
        except JavaTooOldError as error:  # a newer one on PATH does not help
            step = f"JAVA_HOME points to it: set it to Java {OLDEST} or newer, or unset it to use the one on PATH."
            raise JavaTooOldError(error.what, step) from None
    on_path = shutil.which("java")
    if on_path is None:
        raise JavaNotFoundError("There is no Java: JAVA_HOME is not set and PATH has no java.", _INSTALL_HINT)
    return _probe(Path(on_path).absolute())


def find_or_install_java(progress: Callable[[str], None]) -> Java:
    """Returns the Java to use; as root on Debian, installs one if there is none."""
    try:
        return find_java()
    except (JavaNotFoundError, JavaTooOldError):
        if os.environ.get("JAVA_HOME") or not _may_install():
            raise
    return _install(progress)


@cache  # starting a JVM for its version takes a tenth of a second
def _probe(executable: Path) -> Java:
    command = [str(executable), "-XshowSettings:properties", "-version"]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="replace", timeout=60, check=False, env=child_environment()
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise JavaNotFoundError(f"{executable} does not run: {error}", _INSTALL_HINT) from error
    output = done.stderr + done.stdout
    version = re.search(r'version "((?:1\.)?(\d+)[^"]*)"', output)
    if done.returncode != 0 or version is None:
        first_line = next(iter(output.splitlines()), "it printed nothing")
        raise JavaNotFoundError(f"{executable} does not run as Java: {first_line}", _INSTALL_HINT)
    major = int(version.group(2))
    if major < OLDEST:
        raise JavaTooOldError(f"{executable} is Java {major}; Spark and Kafka need {OLDEST} or newer.", _INSTALL_HINT)
    # On macOS /usr/bin/java is a stub, and on Debian a chain of links; only Java itself reports its home.
    home = re.search(r"^\s*java\.home = (.+)$", output, re.MULTILINE)
    found = Path(home.group(1)) if home else executable.resolve().parents[1]
    return Java(executable, found, major, version.group(1))


def _may_install() -> bool:
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        return False
    try:
        release = platform.freedesktop_os_release()
    except OSError:
        return False
    return "debian" in (release.get("ID", ""), *release.get("ID_LIKE", "").split())


def _install(progress: Callable[[str], None]) -> Java:
    progress(f"no Java {OLDEST} here: installing one with apt-get (a minute or so)")
    environment = child_environment(PROXIES, DEBIAN_FRONTEND="noninteractive")
    result = _apt(["update", "-qq"], environment)
    for package in _DEBIAN_PACKAGES:
        result = _apt(["install", "-y", "-qq", "--no-install-recommends", package], environment)
        with suppress(JavaNotFoundError, JavaTooOldError):
            return find_java()
    raise SetupError(f"apt-get could not install Java: {result}", _INSTALL_HINT)


def _apt(arguments: list[str], environment: dict[str, str]) -> str:
    """Runs apt-get and returns its last line; the caller checks whether Java is there afterwards."""
    done = subprocess.run(["apt-get", *arguments], env=environment, capture_output=True, text=True, check=False)
    return next(iter((done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]), f"exit {done.returncode}")
