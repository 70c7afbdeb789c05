"""Only jars that match jars.lock are kept; the real Ivy downloads them from a local repository."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from evertable.errors import JarChecksumError, JarsUnavailableError, SetupError
from evertable.install import jars
from evertable.install.ivy import SETTINGS_VARIABLE, Coordinate
from evertable.install.jars import SETS, jar_paths, read_lock

POM = """<project><modelVersion>4.0.0</modelVersion>
<groupId>{0.group}</groupId><artifactId>{0.artifact}</artifactId><version>{0.version}</version></project>
"""
SETTINGS = """<ivysettings><settings defaultResolver="only"/>
<resolvers><ibiblio name="only" m2compatible="true" root="{0}"/></resolvers></ivysettings>
"""
TWO_JARS = {Coordinate("org.example", "first", "1.0"): b"one", Coordinate("org.example", "second", "2.1-3"): b"two"}
Publish = Callable[[dict[Coordinate, bytes]], None]


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("EVERTABLE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(jars, "_verified", set())
    return tmp_path / "cache"


@pytest.fixture
def publish(monkeypatch: pytest.MonkeyPatch, cache: Path) -> Publish:
    """Makes a Maven repository with the given jars the only one that Ivy knows."""

    tmp_path = cache.parent

    def fill(contents: dict[Coordinate, bytes]) -> None:
        for one, content in contents.items():
            folder = tmp_path / "maven" / one.group.replace(".", "/") / one.artifact / one.version
            folder.mkdir(parents=True, exist_ok=True)
            (folder / one.file_name).write_bytes(content)
            (folder / one.file_name).with_suffix(".pom").write_text(POM.format(one))
        use_repository(monkeypatch, tmp_path, (tmp_path / "maven").as_uri())
        lock(monkeypatch, tmp_path, contents)

    return fill


def use_repository(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, root: str) -> None:
    settings = tmp_path / "ivysettings.xml"
    settings.write_text(SETTINGS.format(root))
    monkeypatch.setenv(SETTINGS_VARIABLE, str(settings))


def lock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, contents: dict[Coordinate, bytes]) -> None:
    file = tmp_path / "jars.lock"
    lines = [f"engine {one} {hashlib.sha256(content).hexdigest()}" for one, content in contents.items()]
    file.write_text("# a remark\n\n" + "\n".join(lines))
    monkeypatch.setattr(jars, "LOCK_FILE", file)


def kept(cache: Path) -> list[str]:
    """Everything in the cache but lock files, as relative paths."""
    found = [path.relative_to(cache).as_posix() for path in cache.rglob("*") if not path.name.endswith(".lock")]
    return sorted(path for path in found if path != "jars")


def test_jars_are_fetched_once_and_then_taken_from_the_cache(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, publish: Publish
) -> None:
    publish(TWO_JARS)
    printed: list[str] = []
    first = jar_paths("engine", printed.append)
    assert [path.name for path in first] == ["first-1.0.jar", "second-2.1-3.jar"]
    assert [path.read_bytes() for path in first] == [b"one", b"two"]
    monkeypatch.setattr(jars, "_verified", set())
    use_repository(monkeypatch, tmp_path, (tmp_path / "gone").as_uri())
    assert jar_paths("engine", printed.append) == first
    assert printed == ["engine jars: downloading 2"]


def test_nothing_but_the_jars_is_kept(cache: Path, publish: Publish) -> None:
    publish(TWO_JARS)
    home = jar_paths("engine")[0].parent.relative_to(cache).as_posix()
    assert kept(cache) == [home, f"{home}/first-1.0.jar", f"{home}/second-2.1-3.jar"]


def test_a_damaged_jar_is_fetched_again(monkeypatch: pytest.MonkeyPatch, publish: Publish) -> None:
    publish(TWO_JARS)
    [first, _] = jar_paths("engine")
    first.write_bytes(b"half of")
    monkeypatch.setattr(jars, "_verified", set())
    assert [path.read_bytes() for path in jar_paths("engine")] == [b"one", b"two"]


def test_a_wrong_checksum_names_the_jar_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cache: Path, publish: Publish
) -> None:
    publish(TWO_JARS)
    lock(monkeypatch, tmp_path, {one: content + b"!" for one, content in TWO_JARS.items()})
    with pytest.raises(
        JarChecksumError, match=r"^\[JAR_CHECKSUM_MISMATCH\] org.example:first:1.0 hashes to [0-9a-f]{64}"
    ):
        jar_paths("engine")
    assert kept(cache) == []


def test_a_jar_that_does_not_exist_is_named_and_leaves_nothing(cache: Path, publish: Publish) -> None:
    publish(TWO_JARS)
    published = cache.parent / "maven/org/example/second"
    for file in published.rglob("*.*"):
        if file.is_file():
            file.unlink()
    with pytest.raises(JarsUnavailableError, match=r"org.example#second;2.1-3: not found"):
        jar_paths("engine")
    assert kept(cache) == []


def test_a_missing_network_is_reported_and_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cache: Path
) -> None:
    lock(monkeypatch, tmp_path, TWO_JARS)
    use_repository(monkeypatch, tmp_path, "http://127.0.0.1:1/")  # port 1: refused at once
    with pytest.raises(JarsUnavailableError) as caught:
        jar_paths("engine")
    message = str(caught.value)
    assert message.startswith("[JARS_UNAVAILABLE] Could not fetch org.example:first:1.0, org.example:second:2.1-3: ")
    assert "Connection refused" in message
    assert "Check the network." in message
    assert kept(cache) == []


def test_a_cache_folder_that_cannot_be_made_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, publish: Publish
) -> None:
    publish(TWO_JARS)
    (tmp_path / "file").touch()
    monkeypatch.setenv("EVERTABLE_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(SetupError, match=r"The cache folder .*file/cache cannot be written: .* Set EVERTABLE_CACHE"):
        jar_paths("engine")


def test_two_setups_at_once_fetch_once(publish: Publish) -> None:
    publish(TWO_JARS)
    program = (
        "import sys; from pathlib import Path; from evertable.install import jars\n"
        "jars.LOCK_FILE = Path(sys.argv[1])\n"
        "print([path.read_bytes() for path in jars.jar_paths('engine', print)])\n"
    )
    command = [sys.executable, "-c", program, str(jars.LOCK_FILE)]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    lines = sorted(line for one in both for line in one.communicate(timeout=60)[0].splitlines())
    assert lines == ["[b'one', b'two']", "[b'one', b'two']", "engine jars: downloading 2"]


def test_the_lock_names_every_set_and_the_versions_of_the_design() -> None:
    locked = read_lock(jars.LOCK_FILE)
    assert {one.set_name for one in locked} == set(SETS)
    assert all(len(one.sha256) == 64 for one in locked)
    assert [str(one.coordinate) for one in locked if one.set_name != "broker"] == [
        "org.eclipse.jdt:ecj:3.42.0",
        "org.apache.kafka:kafka-clients:4.3.1",
        "org.bitbucket.b_c:jose4j:0.9.6",
    ]
    assert Coordinate("org.apache.kafka", "kafka_2.13", "4.3.1") in {one.coordinate for one in locked}
