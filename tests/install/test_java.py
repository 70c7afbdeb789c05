"""The choice of Java, and the errors if there is none that is new enough."""

from __future__ import annotations

import os
import platform
from pathlib import Path

import pytest

from evertable.errors import JavaNotFoundError, JavaTooOldError
from evertable.install.java import Java, find_java, find_or_install_java


def fake_java(home: Path, version: str, *, exit_code: int = 0) -> Path:
    """A program that answers ``-version`` as Java does."""
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(
        f"#!/bin/sh\necho '    java.home = {home}' >&2\necho 'openjdk version \"{version}\"' >&2\nexit {exit_code}\n"
    )
    executable.chmod(0o755)
    return executable


@pytest.fixture(autouse=True)
def no_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine without any Java."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))


def put_on_path(monkeypatch: pytest.MonkeyPatch, executable: Path) -> None:
    monkeypatch.setenv("PATH", str(executable.parent), prepend=os.pathsep)


def test_java_home_wins_over_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    put_on_path(monkeypatch, fake_java(tmp_path / "on-path", "17.0.1"))
    executable = fake_java(tmp_path / "home", "21.0.2")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "home"))
    assert find_java() == Java(executable, tmp_path / "home", 21)


def test_path_is_searched_without_java_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    executable = fake_java(tmp_path / "on-path", "17.0.1")
    put_on_path(monkeypatch, executable)
    assert find_java() == Java(executable, tmp_path / "on-path", 17)


def test_java_itself_reports_its_home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    fake_java(tmp_path / "real", "25")
    link = tmp_path / "bin" / "java"
    link.parent.mkdir()
    link.symlink_to(tmp_path / "real" / "bin" / "java")
    put_on_path(monkeypatch, link)
    assert find_java() == Java(link, tmp_path / "real", 25)


def test_without_java_the_error_names_the_package() -> None:
    with pytest.raises(JavaNotFoundError, match=r"^\[JAVA_NOT_FOUND\] There is no Java: .* Install Java 17 or newer"):
        find_java()


@pytest.mark.parametrize(("version", "major"), [("1.8.0_392", 8), ("11.0.22", 11), ("16", 16)])
def test_old_java_is_named_with_its_version(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, version: str, major: int
) -> None:
    executable = fake_java(tmp_path / "old", version)
    put_on_path(monkeypatch, executable)
    with pytest.raises(JavaTooOldError, match=rf"^\[JAVA_TOO_OLD\] {executable} is Java {major}; .* need 17 or newer"):
        find_java()


def test_an_old_java_home_is_what_is_to_be_corrected(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Installing a newer one would not help."""
    put_on_path(monkeypatch, fake_java(tmp_path / "on-path", "17.0.1"))
    fake_java(tmp_path / "old", "11.0.22")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    with pytest.raises(
        JavaTooOldError, match=r"is Java 11; .* JAVA_HOME points to it: set it to Java 17 or newer, or unset"
    ):
        find_java()


def test_a_wrong_java_home_is_an_error_even_with_a_java_on_path(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    put_on_path(monkeypatch, fake_java(tmp_path / "on-path", "17.0.1"))
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    with pytest.raises(JavaNotFoundError, match=r"JAVA_HOME is .*nowhere, but there is no bin/java in it"):
        find_java()


def test_a_java_that_does_not_run_is_quoted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = fake_java(tmp_path / "broken", "17", exit_code=1)
    broken.write_text("#!/bin/sh\necho 'no libjvm.so here' >&2\nexit 1\n")
    put_on_path(monkeypatch, broken)
    with pytest.raises(JavaNotFoundError, match=r"does not run as Java: no libjvm.so here"):
        find_java()


def test_without_the_right_to_install_the_search_is_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(JavaNotFoundError):
        find_or_install_java(lambda line: None)


def test_debian_as_root_gets_java_from_apt(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """apt-get here is a script that notes how it was called and puts a Java on PATH for one of the packages."""
    tools = tmp_path / "tools"
    fake_java(tmp_path / "jvm", "21.0.5")
    tools.mkdir()
    apt = tools / "apt-get"
    apt.write_text(
        f'#!/bin/sh\necho "$*" >> {tmp_path}/calls\n'
        f'case "$*" in *default-jre-headless) /bin/ln -s {tmp_path}/jvm/bin/java {tools}/java;;\n'
        '*openjdk-17*) echo "E: Unable to locate package" >&2; exit 100;; esac\n'
    )
    apt.chmod(0o755)
    put_on_path(monkeypatch, apt)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(platform, "freedesktop_os_release", lambda: {"ID": "ubuntu", "ID_LIKE": "debian"})
    printed: list[str] = []
    assert find_or_install_java(printed.append) == Java(tools / "java", tmp_path / "jvm", 21)
    assert (tmp_path / "calls").read_text().splitlines() == [
        "update -qq",
        "install -y -qq --no-install-recommends openjdk-17-jre-headless",
        "install -y -qq --no-install-recommends default-jre-headless",
    ]
    assert printed == ["no Java 17 here: installing one with apt-get (a minute or so)"]
