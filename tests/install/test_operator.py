"""The operator's jar is rebuilt exactly when its sources change, and replaced atomically."""

from __future__ import annotations

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from evertable.errors import OperatorError
from evertable.install import operator
from evertable.install.operator import build, is_current, made_from, operator_jar
from evertable.web import FILES

ROOT = Path(__file__).parents[2]
GOOD = "package dev.evertable;\npublic final class Good { public static int two() { return 2; } }\n"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    folder = tmp_path / "src" / "dev" / "evertable"
    folder.mkdir(parents=True)
    (folder / "Good.java").write_text(GOOD)
    return tmp_path / "src"


def test_a_jar_is_current_until_a_source_changes(sources: Path, tmp_path: Path) -> None:
    jar = tmp_path / "operator.jar"
    assert not is_current(jar, sources)
    build(sources, jar)
    assert is_current(jar, sources)
    assert sorted(zipfile.ZipFile(jar).namelist()) == ["META-INF/MANIFEST.MF", "dev/evertable/Good.class"]
    (sources / "dev/evertable/Good.java").write_text(GOOD.replace("2; }", "3; }"))
    assert not is_current(jar, sources)
    assert not made_from(jar, sources)


def test_the_same_sources_give_the_same_bytes(sources: Path, tmp_path: Path) -> None:
    build(sources, tmp_path / "first.jar")
    build(sources, tmp_path / "second.jar")
    assert (tmp_path / "first.jar").read_bytes() == (tmp_path / "second.jar").read_bytes()


def test_a_source_that_does_not_compile_is_shown_and_the_old_jar_stays(sources: Path, tmp_path: Path) -> None:
    jar = tmp_path / "operator.jar"
    build(sources, jar)
    before = jar.read_bytes()
    (sources / "dev/evertable/Bad.java").write_text("package dev.evertable;\nclass Bad { int x = nothing; }\n")
    with pytest.raises(OperatorError) as caught:
        build(sources, jar)
    message = str(caught.value)
    assert message.startswith("[OPERATOR_NOT_BUILT] The join operator does not compile.\n")
    assert "Bad.java (at line 2)" in message
    assert "nothing cannot be resolved to a variable" in message
    assert message.endswith("\nNext: correct these files, or check them out again; then run scripts/setup.")
    assert jar.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["operator.jar", "src"]


def test_spark_and_the_engine_are_on_the_classpath(sources: Path, tmp_path: Path) -> None:
    (sources / "dev/evertable/Uses.java").write_text(
        "package dev.evertable;\nabstract class Uses implements org.apache.spark.sql.api.java.UDF1<String, String> {\n"
        "  org.apache.kafka.clients.consumer.ConsumerRecord<String, String> record;\n}\n"
    )
    build(sources, tmp_path / "operator.jar")
    assert is_current(tmp_path / "operator.jar", sources)


def test_a_missing_jar_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(operator, "SOURCES", tmp_path / "no-sources")
    monkeypatch.setattr(operator, "JAR", tmp_path / "no.jar")
    with pytest.raises(OperatorError, match=r"missing from this installation\. Install the evertable wheel again."):
        operator_jar()


def test_a_wheel_carries_the_operator_and_all_data_files(tmp_path: Path) -> None:
    operator_jar()
    subprocess.run(hatch("wheel", tmp_path), cwd=ROOT, check=True, capture_output=True)
    [wheel] = tmp_path.glob("evertable-*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    data = {"install/evertable-operator.jar", "install/jars.lock", "broker/log4j2.properties", "py.typed"}
    data |= {f"web/files/{path.relative_to(FILES).as_posix()}" for path in FILES.rglob("*.*")}
    assert "web/files/index.html" in data
    assert {f"evertable/{name}" for name in data} - names == set()


def test_building_a_wheel_without_the_operator_fails_with_the_next_step(tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    clone.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "sbom.cdx.json", "scripts", "jvm"):
        (clone / name).symlink_to(ROOT / name)
    shutil.copytree(ROOT / "src", clone / "src", ignore=shutil.ignore_patterns("*.jar", "__pycache__"))
    done = subprocess.run(hatch("wheel", tmp_path), cwd=clone, check=False, capture_output=True, text=True)
    assert done.returncode != 0
    assert "run scripts/setup, then build again" in done.stderr + done.stdout
    assert list(tmp_path.glob("*.whl")) == []


def hatch(target: str, into: Path) -> list[str]:
    return [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(into)]
