"""The configuration file is found, and unusable ones are explained."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.config.conftest import Load, Problems
from tests.markdown import ROOT

from evertable.config import Config, load
from evertable.errors import ConfigError


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    """The error has the given path."""
    with pytest.raises(ConfigError) as refused:
        load(tmp_path / "none.yaml", {})
    assert (f"{tmp_path}/none.yaml: there is no such file",) == refused.value.problems


def test_all_places_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error lists the searched places in order."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError) as refused:
        load(None, {"HOME": f"{tmp_path}/home"})
    places = ["evertable.yaml", f"{tmp_path}/home/.config/evertable/evertable.yaml", "/etc/evertable/evertable.yaml"]
    assert tuple(f"{place}: there is no such file" for place in places) == refused.value.problems
    assert "EVERTABLE_CONFIG" in str(refused.value)


def test_the_first_place_that_has_one_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, minimal: str) -> None:
    """The current folder, then the user's; a variable with a path comes first, and must be right."""
    monkeypatch.chdir(tmp_path)
    own = tmp_path / "xdg" / "evertable"
    own.mkdir(parents=True)
    (own / "evertable.yaml").write_text(minimal + "app: own\n")
    (tmp_path / "other.yaml").write_text(minimal + "app: other\n")
    env = {"XDG_CONFIG_HOME": f"{tmp_path}/xdg"}
    assert load(None, env).app == "own"
    (tmp_path / "evertable.yaml").write_text(minimal + "app: here\n")
    assert load(None, env).app == "here"
    assert load(None, env | {"EVERTABLE_CONFIG": f"{tmp_path}/other.yaml"}).app == "other"
    with pytest.raises(ConfigError, match=r"none\.yaml: there is no such file"):
        load(None, env | {"EVERTABLE_CONFIG": f"{tmp_path}/none.yaml"})


def test_the_environment_alone_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A container may have no file."""
    monkeypatch.chdir(tmp_path)
    env = {"EVERTABLE_KAFKA__BOOTSTRAP_SERVERS": "kafka:9092"}
    with pytest.raises(ConfigError, match="sources: is missing"):
        load(None, env)
    for name in ("A", "B"):
        env |= {f"EVERTABLE_SOURCES__{name}__TOPIC": name, f"EVERTABLE_SOURCES__{name}__KEY": "k"}
        env |= {f"EVERTABLE_SOURCES__{name}__COLUMNS__K": "long"}
    config = load(None, env)
    assert (config.path, config.left.name, config.right.name) == (None, "a", "b")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe\x00", "it is not UTF-8 text"),
        (b"- a\n- b\n", "the file must be a mapping"),
        (b"just text", "the file must be a mapping"),
        (b"a: [", "line 1, column 5: not valid YAML"),
    ],
)
def test_files_that_are_no_configuration(tmp_path: Path, content: bytes, message: str) -> None:
    """One sentence, no traceback of a parser."""
    path = tmp_path / "evertable.yaml"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as refused:
        load(path, {})
    assert [message in problem for problem in refused.value.problems] == [True]


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    """The problem reports that it is a folder."""
    with pytest.raises(ConfigError, match="Is a directory"):
        load(tmp_path, {})


def test_an_empty_file_lacks_what_is_required(problems: Problems) -> None:
    """These are the two sections without a default."""
    assert problems("") == ("kafka: is missing", "sources: is missing")


def test_a_byte_order_mark_is_fine(load_text: Load, minimal: str) -> None:
    """Some editors write one."""
    assert load_text(minimal) == load_text("\ufeff" + minimal)


def test_a_byte_order_mark_elsewhere_is_named(problems: Problems, minimal: str, tmp_path: Path) -> None:
    """It is invisible, and would be part of a name or of a secret."""
    assert problems(minimal + "\ufeffapp: a\n") == (
        f"line {minimal.count(chr(10)) + 1}: has a byte order mark (BOM), which is invisible; delete it",
    )
    secret = tmp_path / "password"
    secret.write_bytes(b"\xef\xbb\xbfhunter2\n")
    [problem] = problems(minimal + f"engine: {{spark: {{spark.x: '${{file:{secret}}}'}}}}\n")
    assert "begins with a byte order mark (BOM); save it as UTF-8 without one" in problem


def test_what_cannot_be_expanded_is_one_problem(problems: Problems, minimal: str) -> None:
    """Its value is not judged on top of it."""
    text = minimal.replace("users_v1", '"${NONE}"') + "engine: {interval_s: '${NONE}'}\n"
    assert [one.split(":")[0] for one in problems(text)] == ["sources.users.topic", "engine.interval_s"]


def test_the_error_carries_no_cause(load_text: Load, minimal: str) -> None:
    """pydantic's own error would hold the values."""
    with pytest.raises(ConfigError) as refused:
        load_text(minimal + "app: a/b\n")
    assert (refused.value.__cause__, refused.value.__context__) == (None, None)


def test_the_example_loads() -> None:
    """The file in examples/ is right, shows the defaults and warns of nothing."""
    config = load(ROOT / "examples" / "evertable.yaml", {})
    assert config.warnings == ()
    required = {"kafka": config.kafka, "sources": config.sources}
    assert Config.model_validate(required) == Config.model_validate(
        {name: getattr(config, name) for name in Config.model_fields}
    )
