"""The command line itself: help, versions and errors."""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evertable import __version__
from evertable.cli import app
from evertable.errors import BrokerError, ConfigError, EvertableError
from evertable.install.jars import LOCK_FILE, read_lock
from evertable.install.java import find_java


def test_versions_of_all_parts() -> None:
    """One line per part, with aligned texts; versions of jars are those in the lock file."""
    result = CliRunner().invoke(app.build_app(), ["--version"])
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert [line[:11].strip() for line in lines] == [
        "evertable",
        "Python",
        "PySpark",
        "engine",
        "broker",
        "Java",
        "web page",
    ]
    texts = dict(
        zip(("evertable", "Python", "PySpark", "engine", "broker", "Java"), (x[11:] for x in lines), strict=False)
    )
    locked = {
        jar.coordinate.artifact: jar.coordinate.version for jar in read_lock(LOCK_FILE) if jar.set_name != "broker"
    }
    assert texts["evertable"] == __version__
    assert texts["Python"] == f"{platform.python_version()} at {sys.executable}"
    assert texts["PySpark"] == importlib.metadata.version("pyspark")
    assert texts["engine"] == f"kafka-clients {locked['kafka-clients']}"
    assert f":kafka_2.13:{texts['broker'].split()[1].strip(',')} " in LOCK_FILE.read_text()
    assert texts["Java"] == f"{find_java().version} at {find_java().home}"


def test_versions_without_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The line for Java names the places that were searched, and the other lines are unchanged."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    result = CliRunner().invoke(app.build_app(), ["--version"])
    assert result.exit_code == 0
    assert "Java       not usable. There is no Java: JAVA_HOME is not set and PATH" in result.output
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    result = CliRunner().invoke(app.build_app(), ["--version"])
    assert f"Java       not usable. JAVA_HOME is {tmp_path}/nowhere" in result.output


@pytest.mark.parametrize(("files", "text"), [([], "not built: run scripts/setup"), (["index.html"], "built")])
def test_versions_include_the_web_page(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, files: list[str], text: str
) -> None:
    for name in files:
        (tmp_path / name).touch()
    monkeypatch.setattr("evertable.web.FILES", tmp_path)
    result = CliRunner().invoke(app.build_app(), ["--version"])
    assert result.output.splitlines()[-1] == f"web page   {text}"


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        (BrokerError("It fell over.", "Pick it up."), 1, "[BROKER_FAILED] It fell over. Pick it up.\n"),
        (ConfigError("It is wrong:", ["a: b [c]"]), 2, "[CONFIG_INVALID] It is wrong:\n  - a: b [c]\n"),
    ],
)
def test_an_error_of_ours_is_shown_without_a_traceback(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], error: EvertableError, code: int, text: str
) -> None:
    def failing() -> None:
        raise error

    monkeypatch.setattr(app, "build_app", lambda: failing)
    with pytest.raises(SystemExit) as left:
        app.main()
    assert (left.value.code, capsys.readouterr().err) == (code, text)


def test_help_imports_nothing_slow() -> None:
    """``--help`` stays fast, because commands import slow modules themselves."""
    program = "import sys; from evertable.cli.app import build_app; build_app(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    slow = {"httpx", "websockets", "numpy", "pyarrow", "pydantic", "pyspark", "confluent_kafka"}
    assert slow & set(done.stdout.split()) == set()


def test_setup_reports_what_is_in_place() -> None:
    evertable = Path(sys.executable).with_name("evertable")
    done = subprocess.run([evertable, "setup"], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "Ready. Next: evertable broker --port 9092"
