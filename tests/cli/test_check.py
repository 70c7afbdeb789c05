"""``evertable check``: the configuration in effect, or all its problems."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from evertable.cli.app import build_app, main
from evertable.config import effective, load

EXAMPLE = Path(__file__).parents[2] / "examples" / "evertable.yaml"


def check(*arguments: str) -> Result:
    return CliRunner().invoke(build_app(), ["check", *arguments])


def test_a_right_configuration() -> None:
    """Standard output has the effective configuration, standard error the next step."""
    result = check(str(EXAMPLE))
    assert (0, effective(load(EXAMPLE))) == (result.exit_code, result.stdout)
    assert f"{EXAMPLE} is valid: users and accounts, left join. Next: evertable serve {EXAMPLE}\n" == result.stderr


def test_warnings(tmp_path: Path) -> None:
    """Settings without effect are warnings; secrets are masked."""
    path = tmp_path / "evertable.yaml"
    path.write_text(EXAMPLE.read_text().replace("kafka: {boot", "kafka: {group.id: g, sasl.password: hunter2, boot", 1))
    result = check(str(path))
    assert (result.exit_code, "hunter2" in result.output) == (0, False)
    assert "  sasl.password: '********'\n" in result.stdout
    assert result.stderr.startswith("Warning: kafka.group.id: is not used: ")


def test_problems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """All problems are on standard error, and the exit code is 2."""
    path = tmp_path / "evertable.yaml"
    path.write_text(EXAMPLE.read_text().replace("age: long", "age: lng").replace("realtime", "fast"))
    monkeypatch.setattr("sys.argv", ["evertable", "check", str(path)])
    with pytest.raises(SystemExit) as left:
        main()
    output = capsys.readouterr()
    assert (left.value.code, output.out) == (2, "")
    assert f"[CONFIG_INVALID] {path} has 2 problems.\n  - sources.users.columns.age: 'lng' is not a" in output.err
    assert "  - engine.trigger: 'fast' is unknown; known are realtime, microbatch" in output.err


def test_without_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The configuration is found in the usual places."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EVERTABLE_CONFIG", raising=False)
    (tmp_path / "evertable.yaml").write_text(EXAMPLE.read_text())
    assert "evertable.yaml is valid" in check().stderr
