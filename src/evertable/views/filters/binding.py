"""Binds a filter's tree to the columns of a table: names to places, literals to types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce

import pyarrow as pa
import pyarrow.compute as pc

from evertable.errors import FilterError
from evertable.problems import nearest
from evertable.schema.columns import Column, Kind
from evertable.tables.table import Check, Snapshot, never
from evertable.views.columns import ColumnReader, casefold, in_pieces, places_of
from evertable.views.filters import compute
from evertable.views.filters.compute import ArrowMask
from evertable.views.filters.lexer import Token, TokenKind
from evertable.views.filters.literals import fit
from evertable.views.filters.tree import (
    And,
    Comparison,
    Expression,
    In,
    IsNull,
    Not,
    Or,
    Predicate,
    TextSearch,
)

Test = Callable[[ColumnReader], ArrowMask]


@dataclass(frozen=True)
class BoundFilter:
    """A filter for tables with certain columns, which it knows by place."""

    test: Test
    columns: frozenset[int]
    """The places of the columns that it reads."""
    missing: tuple[str, ...] = ()
    """Names of columns that the table lacks or whose type does not fit: the filter sees nulls in them."""

    def mask(self, snapshot: Snapshot, check: Check = never) -> ArrowMask:
        """Returns true for each row that passes, else false or null. Calls ``check`` between pieces of work."""
        found = [self.test(piece) for piece in in_pieces(snapshot, self.columns, check)]
        return pa.concat_arrays(found) if found else pa.array([], pa.bool_())


def bind(tree: Expression, columns: Sequence[Column], missing_ok: bool = False) -> BoundFilter:
    """Returns the filter for tables with these columns.

    Raises FilterError if a column is missing or its type does not fit; with ``missing_ok`` such a column is null
    wherever the filter names it.
    """
    binder = _Binder(columns, missing_ok)
    test = binder.test(tree)
    if binder.missing:
        test = binder.test(tree)  # again: earlier predicates may name a column found missing later
    return BoundFilter(test, frozenset(binder.read), tuple(binder.missing))


class _Binder:
    def __init__(self, columns: Sequence[Column], missing_ok: bool) -> None:
        self._columns = columns
        self._places = places_of(columns)
        self._missing_ok = missing_ok
        self.missing: dict[str, None] = {}
        self.read: set[int] = set()

    def test(self, tree: Expression) -> Test:
        match tree:
            case And() | Or():
                parts = [self.test(part) for part in tree.parts]
                combine = pc.and_kleene if isinstance(tree, And) else pc.or_kleene
                return lambda columns: reduce(combine, [part(columns) for part in parts])
            case Not():
                inner = self.test(tree.part)
                return lambda columns: pc.invert(inner(columns))
            case _:
                return self._predicate(tree)

    def _predicate(self, tree: Predicate) -> Test:
        names = [tree.column.value]
        if isinstance(tree, Comparison) and tree.operand.kind is TokenKind.NAME:
            names.append(tree.operand.value)
        if self._missing_ok:
            self.missing.update(dict.fromkeys(name for name in names if name not in self._places))
        if not self.missing.keys() & names:
            try:
                return self._bound(tree)
            except FilterError:
                if not self._missing_ok:
                    raise
                self.missing.update(dict.fromkeys(names))
        answer = True if isinstance(tree, IsNull) else None
        return lambda columns: pa.repeat(pa.scalar(answer, pa.bool_()), columns.total)

    def _bound(self, tree: Predicate) -> Test:
        index = self._index(tree.column)
        match tree:
            case Comparison():
                return self._comparison(index, tree)
            case In():
                literals = [fit(value, self._columns[index]) for value in tree.values]
                return lambda columns: compute.is_in(columns.column(index), literals)
            case TextSearch():
                column = self._columns[index]
                if column.type.kind not in (Kind.STRING, Kind.JSON):
                    raise FilterError(
                        f"'{column.name}' is {column.type}: expected a text column before '{tree.operator}'",
                        tree.column.position,
                    )
                part = str(casefold(pa.chunked_array([[tree.text.value]], pa.string()))[0])
                return lambda columns: compute.search(columns, index, tree.operator, part)
            case IsNull():
                return lambda columns: pc.is_null(columns.column(index)).combine_chunks()

    def _comparison(self, left: int, tree: Comparison) -> Test:
        operator, operand = tree.operator, tree.operand
        if operand.kind is not TokenKind.NAME:
            literal = fit(operand, self._columns[left])
            return lambda columns: compute.compare(columns.column(left), operator, literal)
        right = self._index(operand, "a column, or text in single quotes")
        types = [self._columns[i].type for i in (left, right)]
        common = compute.common_type(*types)
        if common is None:
            raise FilterError(
                f"'{tree.column.value}' is {types[0]} and '{operand.value}' is {types[1]}: expected types that compare",
                operand.position,
            )
        return lambda columns: compute.compare_columns(columns.column(left), operator, columns.column(right), common)

    def _index(self, name: Token, wanted: str = "a column") -> int:
        if name.value not in self._places:
            known = nearest(name.value, self._places)
            raise FilterError(f"expected {wanted}, found '{name.value}'; {known}", name.position)
        self.read.add(self._places[name.value])
        return self._places[name.value]
