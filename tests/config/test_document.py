"""YAML as plain data."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from evertable.config import document
from evertable.config.document import Data


def problems_in(text: str) -> list[str]:
    return [str(problem) for problem in document.parse(text).problems]


def test_scalars_stay_what_was_written() -> None:
    """YAML's booleans, octals, dates and base-60 numbers are texts here, as values and as names; only nulls are not."""
    text = "on: yes\nno: 0123\n1: 1.10\n2026-01-01: 12:30:00\ntrue: 0x1F\nnull: 1_000\nempty:\ntilde: ~\nquoted: 'null'"
    expected: Data = {
        "on": "yes",
        "no": "0123",
        "1": "1.10",
        "2026-01-01": "12:30:00",
        "true": "0x1F",
        "null": "1_000",
        "empty": None,
        "tilde": None,
        "quoted": "null",
    }
    assert expected == document.parse(text).data


def test_lines_are_known() -> None:
    """Every value's line, by its dotted path."""
    lines = document.parse("a: 1\nb:\n  c.d: x\n  e: [f,\n    g]\n").lines
    assert (lines["a"], lines["b"], lines["b.c.d"], lines["b.e.0"], lines["b.e.1"]) == (1, 3, 3, 4, 5)


def test_all_duplicates_are_problems() -> None:
    """Each key that is given twice, with both lines; the first value is kept."""
    read = document.parse("a: 1\nb: {c: 1, c: 2}\na: 2\n")
    assert read.data == {"a": "1", "b": {"c": "1"}}
    expected = ["b.c: is given twice, in lines 2 and 2", "a: is given twice, in lines 1 and 3"]
    assert expected == [str(problem) for problem in read.problems]


def test_anchors_and_merges() -> None:
    """Aliases repeat a value; ``<<`` fills in what a mapping does not have itself."""
    text = "a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\nc: {<<: [{y: 4}, *a]}\nd: *a\n"
    expected = {
        "a": {"x": "1", "y": "2"},
        "b": {"x": "1", "y": "3"},
        "c": {"x": "1", "y": "4"},
        "d": {"x": "1", "y": "2"},
    }
    assert expected == document.parse(text).data
    assert problems_in("b: {<<: 3}") == ["b: '<<' takes a mapping, or a list of them"]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("a: [1", "line 1, column 6: not valid YAML: an unfinished {…} or […]"),
        ("topic: {t: ${TOPIC}}", "inside them ${VAR} needs quotes"),
        ("a: @hunter", "put the value in quotes"),
        ("\ta: 1", "such as a tab"),
        ("a: *hunter", "an alias (*name) without its anchor"),
        ("a: b: c", "a second ': '"),
        ("a: 1\n---\nb: 2", "a second document"),
        ("a: 'x", "a quote that is not closed"),
        ("a:\n  b: 1\n c: 2", "indent"),
        ("a: !hunter x", "a: tags (!…) are not supported"),
        ("? [a]\n: 1", "line 1: a list or a mapping cannot be a name"),
        ("a: \x07", "a character that is not allowed"),
        ("a: &x [*x]", "does an alias contain itself?"),
        ("[" * 5000, "nested too deeply"),
        (
            "a: &a [1,1]\n"
            + "".join(f"b{i}: &b{i} [{', '.join(['*' + (f'b{i - 1}' if i else 'a')] * 9)}]\n" for i in range(9)),
            "too large",
        ),
    ],
)
def test_what_cannot_be_read_is_a_problem_that_quotes_nothing(text: str, what: str) -> None:
    """One sentence with the line, never the text itself: it may hold a secret."""
    problems = problems_in(text)
    assert [what in problem for problem in problems] == [True], problems
    assert "hunter" not in problems[0]


@given(st.text())
def test_no_text_breaks_it(text: str) -> None:
    """Any text ends as data or as problems, never as an exception."""
    read = document.parse(text)
    assert read.problems or read.data is None or isinstance(read.data, str | list | dict)


texts = st.text(st.characters(blacklist_categories=["Cs"]))
data = st.recursive(
    st.none() | texts,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(texts.filter(lambda key: key != "<<"), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(data)
def test_what_a_program_writes_is_read_back(value: Data) -> None:
    """Texts, nulls, lists and mappings survive PyYAML's own writing of them."""
    read = document.parse(yaml.safe_dump(value))
    assert ([], value) == (read.problems, read.data)
