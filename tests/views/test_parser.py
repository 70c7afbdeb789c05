"""A filter is parsed to a tree, or to an error with what was expected and where."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.views.printing import name, number, printed, text, truth
from tests.views.strategies import COLUMNS, trees

from evertable.errors import FilterError, FilterTooLongError
from evertable.views.filters import Expression, parse
from evertable.views.filters.parser import MAX_DEPTH
from evertable.views.filters.tree import (
    And,
    Comparison,
    In,
    IsNull,
    Not,
    Operator,
    Or,
    TextOperator,
    TextSearch,
)
from evertable.views.view import MAX_FILTER_CHARS

A, B, C = (Comparison(name(letter), Operator.EQUAL, number(1)) for letter in "abc")
X = name("x")
FROM_1 = Comparison(X, Operator.AT_LEAST, number(1))
TO_Y = Comparison(X, Operator.AT_MOST, name("y"))

WORDS = [
    *"and or not in is null between contains starts ends with true false AND Not x y.z".split(),
    *"1 -1 1.5 .5 1. 1e3 1e-3 1e9999999 + - . = != <> < <= > >= ( ) , ; ! é 😀".split(),
    *("'a'", "''", "'it''s'", "'", '"x"', '""', '"a""b"', '"', "\0", "\ud800"),
]


def read(text: str) -> Expression | FilterError | None:
    try:
        return parse(text)
    except FilterError as error:
        return error


def tree_or_error(text: str) -> None:
    """Parses a text, and checks that a FilterError has what was expected and a position."""
    found = read(text)
    if isinstance(found, FilterError):
        assert 0 <= found.position <= len(text)
        assert re.match("expected .*, found ", found.what, re.DOTALL)
        assert len(found.what) < 200


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("", None),
        (" \n\t", None),
        ("a = 1 or b = 1 and c = 1", Or((A, And((B, C))))),
        ("(a = 1 or b = 1) and c = 1", And((Or((A, B)), C))),
        ("not a = 1 and b = 1", And((Not(A), B))),
        ("not (a = 1 and b = 1)", Not(And((A, B)))),
        ("NOT NOT a=1", Not(Not(A))),
        ("x <> 1", Comparison(X, Operator.UNEQUAL, number(1))),
        ("x>=-.5e+1", Comparison(X, Operator.AT_LEAST, number(-5))),
        ("x = y", Comparison(X, Operator.EQUAL, name("y"))),
        ('"a ""b""" = \'it\'\'s\'', Comparison(name('a "b"'), Operator.EQUAL, text("it's"))),
        ("größe.cm_1 = TRUE", Comparison(name("größe.cm_1"), Operator.EQUAL, truth(True))),
        ("x Starts\nWith ''", TextSearch(X, TextOperator.STARTS_WITH, text(""))),
        ("x not contains 'a'", Not(TextSearch(X, TextOperator.CONTAINS, text("a")))),
        ("x is not null", Not(IsNull(X))),
        ("x not in (1,'a',false)", Not(In(X, (number(1), text("a"), truth(False))))),
        ("x between 1 and y and a = 1", And((And((FROM_1, TO_Y)), A))),
        ("x not between 1 and y", Not(And((FROM_1, TO_Y)))),
    ],
)
def test_a_filter_is_parsed_by_the_grammar(text: str, tree: Expression | None) -> None:
    assert parse(text) == tree


@pytest.mark.parametrize(
    ("text", "position", "what"),
    [
        ("balance >", 9, "expected a value after '>', found the end"),
        ("balance > and", 10, "expected a value after '>', found 'and'"),
        ("100 < balance", 0, "expected a column, found '100'"),
        ("and", 0, "expected a column, found 'and'"),
        ("a = 1 and", 9, "expected a column, 'not' or '(' after 'and', found the end"),
        ("balance", 7, "expected a comparison after 'balance', found the end"),
        ("a = 1 b = 2", 6, "expected 'and', 'or' or the end after '1', found 'b'"),
        ("a = 1)", 5, "expected 'and', 'or' or the end after '1', found ')'"),
        ("(a = 'x'", 8, "expected 'and', 'or' or ')' after the text 'x', found the end"),
        ("a == 1", 3, "expected a value after '=', found '='"),
        ("a = null", 4, "expected a value ('is null' finds nulls) after '=', found 'null'"),
        ("a is 1", 5, "expected 'null' or 'not null' after 'is', found '1'"),
        ("a is not 1", 9, "expected 'null' after 'not', found '1'"),
        ("a not = 1", 6, "expected 'in', 'between', 'contains', 'starts with' or 'ends with' after 'not', found '='"),
        ("a in 1", 5, "expected '(' after 'in', found '1'"),
        ("a in ()", 6, "expected a value after '(', found ')'"),
        ("a in (1", 7, "expected ',' or ')' after '1', found the end"),
        ("a in (x)", 6, "expected a value (text goes in single quotes) after '(', found 'x'"),
        ("a between 1 or 2", 12, "expected 'and' after '1', found 'or'"),
        ("a starts 'x'", 9, "expected 'with' after 'starts', found the text 'x'"),
        ("a contains x", 11, "expected a text in single quotes after 'contains', found 'x'"),
        ('a contains "x"', 11, "expected a text in single quotes after 'contains', found \"x\""),
        ("a = 'x", 4, "expected a closing ' for the one that opens here, found the end"),
        ("a = 'x''y", 4, "expected a closing ' for the one that opens here, found the end"),
        ('"a = 1', 0, 'expected a closing " for the one that opens here, found the end'),
        ('"" = 1', 0, "expected a column's name between the quotes, found nothing"),
        ("a = 1x", 4, "expected a number, found '1x'"),
        ("a = 1.2.3", 4, "expected a number, found '1.2.3'"),
        ("a = -", 4, "expected a number, found '-'"),
        ("a = ٣", 4, "expected a number, found '٣'"),
        ("a = 1e1234567", 4, "expected an exponent of at most 6 digits, found 7"),
        ("a % 1", 2, "expected a column, a value or an operator, found '%'"),
        ("a = \0", 4, "expected a column, a value or an operator, found 'U+0000'"),
        ("a = '\ud83d'", 5, "expected valid Unicode, found an unpaired surrogate (U+D83D)"),
        ("a = 1 " + "b" * 40, 6, f"expected 'and', 'or' or the end after '1', found '{'b' * 30}…'"),
    ],
)
def test_an_error_has_what_was_expected_and_where(text: str, position: int, what: str) -> None:
    with pytest.raises(FilterError) as refused:
        parse(text)
    assert (refused.value.position, refused.value.what) == (position, what)


@pytest.mark.parametrize("opening", ["(", "not ", "(not ", "not("])
def test_nesting_has_a_limit(opening: str) -> None:
    """The limit is exact, and below Python's recursion limit."""
    closing = ")" * opening.count("(")
    steps = MAX_DEPTH // len(opening.replace("not", "n").replace(" ", ""))
    assert parse(opening * steps + "a = 1" + closing * steps) is not None
    with pytest.raises(FilterError, match=f"at most {MAX_DEPTH} nested parentheses and nots") as refused:
        parse(opening * (steps + 1) + "a = 1" + closing * (steps + 1))
    assert 0 < refused.value.position < len(opening) * (steps + 1)
    tree_or_error((opening * MAX_FILTER_CHARS)[:MAX_FILTER_CHARS])


def test_a_long_chain_is_wide_not_deep() -> None:
    text = " and ".join(["a=1"] * 250)
    assert parse(text) == And((A,) * 250)


def test_a_filter_of_more_characters_than_allowed_is_too_long() -> None:
    assert parse("a = 1".ljust(MAX_FILTER_CHARS)) == A
    with pytest.raises(FilterTooLongError, match=r"2001 characters; 2000 are allowed"):
        parse("a = 1".ljust(MAX_FILTER_CHARS + 1))


def test_positions_do_not_make_filters_differ() -> None:
    """Trees are equal although they have the positions of their own texts."""
    first, second = parse("a = 1"), parse("  a=1")
    assert first == second
    assert hash(first) == hash(second)
    assert isinstance(second, Comparison)
    assert (second.column.position, second.operand.position) == (2, 4)


def test_one_and_true_make_filters_differ() -> None:
    assert parse("a = 1") != parse("a = true")


@settings(max_examples=300)
@given(trees(COLUMNS, depth=4))
def test_a_printed_tree_is_parsed_to_the_same_tree(tree: Expression) -> None:
    assert parse(printed(tree)) == tree


@settings(max_examples=300)
@given(st.text(st.characters(), max_size=60))
def test_any_text_is_a_filter_or_an_error(text: str) -> None:
    tree_or_error(text)


@settings(max_examples=500)
@given(st.lists(st.sampled_from(WORDS), max_size=30), st.sampled_from(["", " "]))
def test_any_words_are_a_filter_or_an_error(words: list[str], between: str) -> None:
    tree_or_error(between.join(words))


@settings(max_examples=500)
@given(trees(COLUMNS[:3]), st.data())
def test_a_filter_with_a_mistake_is_a_filter_or_an_error(tree: Expression, data: st.DataObject) -> None:
    """A part of a valid filter is removed, repeated or replaced."""
    text = printed(tree)
    begin = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(begin, min(begin + 5, len(text))))
    instead = data.draw(st.sampled_from([*WORDS, "", text[begin:end] * 2]))
    tree_or_error((text[:begin] + instead + text[end:])[:MAX_FILTER_CHARS])


@settings(max_examples=100)
@given(st.lists(st.sampled_from([*WORDS, "x = 1 and", "(x = 1) or not"]), min_size=1, max_size=5))
def test_a_filter_of_full_length_is_a_filter_or_an_error(words: list[str]) -> None:
    text = " ".join(words) + " "
    tree_or_error((text * (MAX_FILTER_CHARS // len(text) + 1))[:MAX_FILTER_CHARS])
