"""``evertable check``: what is in effect, or all that is wrong."""

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
    """The effective configuration on standard output; then one line that says it is fine, and what to do next."""
    result = check(str(EXAMPLE))
    assert (0, effective(load(EXAMPLE))) == (result.exit_code, result.stdout)
    assert f"{EXAMPLE} is fine: users and accounts, left join. Next: evertable serve {EXAMPLE}\n" == result.stderr


def test_warnings(tmp_path: Path) -> None:
    """What has no effect is said before it is called fine; secrets are masked."""
    path = tmp_path / "evertable.yaml"
    path.write_text(EXAMPLE.read_text().replace("kafka: {boot", "kafka: {group.id: g, sasl.password: hunter2, boot", 1))
    result = check(str(path))
    assert (result.exit_code, "hunter2" in result.output) == (0, False)
    assert "  sasl.password: '********'\n" in result.stdout
    assert result.stderr.startswith("Warning: kafka.group.id: is not used: ")


def test_problems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """All of them on standard error, nothing on standard output, exit code 2."""
    path = tmp_path / "evertable.yaml"
    path.write_text(EXAMPLE.read_text().replace("age: long", "age: lng").replace("realtime", "fast"))
    monkeypatch.setattr("sys.argv", ["evertable", "check", str(path)])
    with pytest.raises(SystemExit) as left:
        main()
    said = capsys.readouterr()
    assert (left.value.code, said.out) == (2, "")
    assert f"[CONFIG_INVALID] {path} has 2 problems.\n  - sources.users.columns.age: 'lng' is not a" in said.err
    assert "  - engine.trigger: 'fast' is unknown; known are realtime, microbatch" in said.err


def test_without_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is looked for in the usual places."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EVERTABLE_CONFIG", raising=False)
    (tmp_path / "evertable.yaml").write_text(EXAMPLE.read_text())
    assert "evertable.yaml is fine" in check().stderr
