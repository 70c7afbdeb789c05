"""The command line itself: help, version, and errors that one glance understands."""

from __future__ import annotations

import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from evertable import __version__
from evertable.cli import app, commands
from evertable.errors import BrokerError, ConfigError, EvertableError

COMMANDS = sorted(module.name.replace("_", "-") for module in pkgutil.iter_modules(commands.__path__))


def test_the_version_is_the_package_s() -> None:
    said = CliRunner().invoke(app.build_app(), ["--version"])
    assert (said.exit_code, said.output) == (0, f"evertable {__version__}\n")


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_every_help_text_has_an_example(command: str) -> None:
    said = CliRunner().invoke(app.build_app(), [*command.split(), "--help"])
    assert said.exit_code == 0
    assert f"Example:  evertable {command}".rstrip() in said.output


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


def test_help_needs_no_spark_and_no_kafka() -> None:
    """``--help`` stays quick: what is slow to import is imported by the command that needs it."""
    program = "import sys; from evertable.cli.app import build_app; build_app(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert {"pyspark", "confluent_kafka", "pyarrow"} & set(done.stdout.split()) == set()


def test_setup_reports_what_is_in_place() -> None:
    evertable = Path(sys.executable).with_name("evertable")
    done = subprocess.run([evertable, "setup"], check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "Ready. Next: evertable broker --port 9092"
