"""References inside values."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evertable.config.document import Data
from evertable.config.expansion import Expansion, escape
from evertable.secrets import SecretText

ENV = {"HOST": "kafka", "EMPTY": "", "TRICKY": "${HOST}: {a: b} # no\n- x", "DB_PASSWORD": "hunter2"}


def expanded(data: Data, folder: Path = Path()) -> tuple[Data, list[str]]:
    expansion = Expansion(ENV, folder)
    return expansion.expand(data), [str(problem) for problem in expansion.problems]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${HOST}:9092", "kafka:9092"),
        ("${HOST},${HOST}", "kafka,kafka"),
        ("${NONE:-other}", "other"),
        ("${EMPTY:-other}", "other"),
        ("${HOST:-other}", "kafka"),
        ("${NONE:-}", ""),
        ("${EMPTY}", ""),
        ("$${HOST}", "${HOST}"),
        ("$$${HOST}", "$${HOST}"),
        ("pa$$word $HOST $", "pa$$word $HOST $"),
        ("${TRICKY}", ENV["TRICKY"]),
    ],
)
def test_variables(text: str, value: str) -> None:
    """They are expanded once, as in a shell: the value is not expanded again."""
    assert (value, []) == expanded(text)


def test_keys_are_not_expanded_and_every_value_is() -> None:
    """Values in mappings and lists, whatever their depth; names stay."""
    data: Data = {"${HOST}": ["${HOST}", {"a": "${HOST}"}, None]}
    assert expanded(data) == ({"${HOST}": ["kafka", {"a": "kafka"}, None]}, [])


@pytest.mark.parametrize("text", ["${", "${}", "${a b}", "${A:-${B}}", "${A:+x}", "${file:}"])
def test_a_malformed_reference_is_a_problem(text: str) -> None:
    """It is never passed on unchanged."""
    assert len(expanded({"x": text})[1]) >= 1


def test_missing_values_are_problems(tmp_path: Path) -> None:
    """All of them at once, each with the path of its value."""
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    (tmp_path / "large").write_bytes(b"x" * (1 << 21))
    data: Data = {"a": "${NONE}", "b": ["${file:none}"], "c": "${file:binary}", "d": "${file:large}", "e": "${file:.}"}
    _, problems = expanded(data, tmp_path)
    expected = [
        "a: the environment variable NONE is not set; ${NONE:-…} would give it a default",
        f"b.0: the file {tmp_path}/none cannot be read: No such file or directory",
        f"c: the file {tmp_path}/binary is not UTF-8 text",
        f"d: the file {tmp_path}/large is larger than 1 MiB",
        f"e: the file {tmp_path} cannot be read: Is a directory",
    ]
    assert expected == problems


def test_files(tmp_path: Path) -> None:
    """A file's text without its last line end, relative to the folder or absolute."""
    (tmp_path / "unix").write_bytes(b"one\ntwo\n\n")
    (tmp_path / "windows").write_bytes(b"one\r\n")
    (tmp_path / "reference").write_bytes(b"${HOST}")
    assert expanded("${file:unix}", tmp_path) == ("one\ntwo\n", [])
    assert expanded(f"${{file:{tmp_path}/windows}}") == ("one", [])
    assert expanded("${file:reference}", tmp_path) == ("${HOST}", [])


def test_what_counts_as_a_secret(tmp_path: Path) -> None:
    """Values of files and of variables whose names suggest one, with the text around them; nothing else."""
    (tmp_path / "file").write_text("hunter2")
    data: Data = ["a ${file:file}", "${DB_PASSWORD}", "${API_TOKEN:-none}", "${HOST}", "plain"]
    result, _ = expanded(data, tmp_path)
    assert isinstance(result, list)
    assert [isinstance(value, SecretText) for value in result] == [True, True, True, False, False]


def shape(data: Data) -> object:
    if isinstance(data, dict):
        return {name: shape(value) for name, value in data.items()}
    return [shape(value) for value in data] if isinstance(data, list) else data is None


leaves = st.none() | st.text() | st.sampled_from(["${TRICKY}", "x${TRICKY}", "$${", "${HOST}", "${NONE}"])
data = st.recursive(leaves, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=10)


@given(data)
def test_expansion_never_changes_the_structure(value: Data) -> None:
    """Mappings, lists, names and nulls are the same before and after, whatever the variables hold."""
    assert shape(value) == shape(expanded(value)[0])


@given(st.text() | st.lists(st.sampled_from(["$", "{", "}", "a", "${", "$${"])).map("".join))
def test_an_escaped_text_comes_back(text: str) -> None:
    """Any text can be written so that expansion leaves it alone."""
    assert (text, []) == expanded(escape(text))
