"""Tables folded from a changelog equal the reference, whatever the order and the repeats."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random

import numpy as np
import pyarrow as pa
import pytest
from tests.reference.fold import fold
from tests.reference.histories import COLUMNS, KEY, History, packed, placed, sampled
from tests.reference.operator import ModelOperator
from tests.reference.outcome import expected, outcome_of
from tests.tables.contents import INPUTS, joined_rows, rows_of

from evertable.changelog.changes import Changes
from evertable.changelog.decode import Decoder
from evertable.changelog.schema import ChangelogSchema, Side
from evertable.schema.joins import JoinType
from evertable.tables import generation
from evertable.tables.generation import GenerationTables
from evertable.tables.table import Table

KEYS = (KEY, KEY)
HISTORIES = 1_000


def written(schema: ChangelogSchema, history: History, random: Random, max_matches: int | None = None) -> list[bytes]:
    """Returns what an operator wrote that processed the records in two orders, shuffled and with repeats."""
    records = placed(history)
    lines = [
        line
        for _ in range(2)
        for line in ModelOperator(schema, KEYS, max_matches=max_matches).run(random.sample(records, len(records)))
    ]
    return random.sample(lines, len(lines)) + (random.choices(lines, k=5) if lines else [])


def check_step(tables: GenerationTables, changes: Changes) -> None:
    """Folds, and checks that each overwritten row is reported and that snapshots do not change."""
    table: Table = tables.joined
    before, version, held = rows_of(table), table.extent.version, table.snapshot()
    tables.fold(changes)
    after = rows_of(table)
    assert len(after) >= len(before)
    assert table.extent.version >= version
    different = [slot for slot, row in enumerate(before) if after[slot] != row]
    for slot in different:
        assert table.changed(np.array([slot]), version).all()
        assert not table.changed(np.array([slot]), table.extent.version).any()
    assert set(different) <= set(table.written(version) or ()) <= set(range(len(after)))
    if len(after) > len(before) or different:
        assert table.extent.version > version
    assert rows_of(held) == before


@pytest.mark.parametrize("join", JoinType)
def test_any_order_and_any_repeats_give_the_reference(join: JoinType) -> None:
    """Every table of a generation, in a thousand histories, folded in batches of any size."""
    schema = ChangelogSchema(*COLUMNS, join)
    decoder, random = Decoder(schema), Random(join.value)
    for number, history in enumerate(sampled(HISTORIES, number=list(JoinType).index(join))):
        should = expected(join, COLUMNS, KEYS, placed(history))
        tables = GenerationTables(*INPUTS, join)
        lines = written(schema, history, random)
        size = random.randint(1, 12)
        for at in range(0, len(lines), size):
            changes = decoder.decode(lines[at : at + size])
            if number % 10:
                tables.fold(changes)
            else:
                check_step(tables, changes)
        for table, rows in zip((tables.left, tables.right), should.rows, strict=True):
            assert Counter(rows_of(table)) == Counter(values[1:] for values in rows.values())
        assert Counter(rows_of(tables.joined)) == joined_rows(join, should)
        assert {row[:1] + row[2:4] for row in rows_of(tables.dead_letters)} == {
            (INPUTS[side].name, partition, offset) for side, partition, offset in should.rejects
        }
        assert sum(tables.rejects_by_source.values()) == len(should.rejects)
        assert sum(map(len, tables._waiting)) == 0


@pytest.mark.parametrize("join", JoinType)
def test_matches_of_keys_that_have_too_many_are_hidden(join: JoinType) -> None:
    """Also those that were written before that was found, in an order in which it was found later, and again."""
    schema = ChangelogSchema(*COLUMNS, join)
    decoder, random, hidden = Decoder(schema), Random(join.value), 0
    for history in sampled(HISTORIES, number=17):
        most = random.randint(1, 6)
        should = expected(join, COLUMNS, KEYS, placed(history), most)
        reasons: list[str] = []
        tables = GenerationTables(*INPUTS, join, on_quarantine=reasons.extend)
        lines, size = written(schema, history, random, most), random.randint(1, 12)
        for at in range(0, len(lines), size):
            before, held = rows_of(tables.joined), tables.joined
            tables.fold(decoder.decode(lines[at : at + size]))
            assert len(rows_of(held)) >= len(before)  # whoever still shows it sees no row disappear
        assert Counter(rows_of(tables.joined)) == joined_rows(join, should)
        assert should == outcome_of(fold(join, [decoder.decode(lines)]))
        assert len(set(reasons)) == len(reasons)
        letters = [row[5] for row in rows_of(tables.dead_letters) if row[5].startswith("TOO_MANY_MATCHES")]
        assert sorted(letters) == sorted(reasons)
        hidden += len(reasons)
    assert hidden > HISTORIES / 10


@pytest.mark.parametrize("join", JoinType)
def test_folding_everything_again_changes_nothing(join: JoinType) -> None:
    """No version and no row changes, and no listener is called."""
    schema = ChangelogSchema(*COLUMNS, join)
    calls: list[None] = []
    tables = GenerationTables(*INPUTS, join, on_change=lambda: calls.append(None))
    changes = Decoder(schema).decode(
        [line for history in sampled(5) for line in ModelOperator(schema, KEYS).run(placed(history))]
    )
    assert tables.fold(changes)
    before = [(table.extent, rows_of(table)) for table in (tables.left, tables.right, tables.joined)]
    assert not tables.fold(changes)
    assert [(table.extent, rows_of(table)) for table in (tables.left, tables.right, tables.joined)] == before
    assert len(calls) == 1


@pytest.mark.parametrize("join", JoinType)
def test_columns_of_a_snapshot_agree_with_its_rows(join: JoinType) -> None:
    """Whole columns, which sorts and filters read, have the values of the rows in the order of slots."""
    schema = ChangelogSchema(*COLUMNS, join)
    for history in sampled(20):
        tables = GenerationTables(*INPUTS, join)
        for line in ModelOperator(schema, KEYS).run(placed(history)):
            tables.fold(Decoder(schema).decode([line]))
        for table in (tables.left, tables.right, tables.joined, tables.dead_letters):
            snapshot = table.snapshot()
            columns = [snapshot.column(i).to_pylist() for i in range(len(table.columns))]
            assert list(zip(*columns, strict=True)) == rows_of(table)
            assert [snapshot.column(i).type for i in range(len(table.columns))] == table.take(
                np.empty(0, np.int64), range(len(table.columns))
            ).schema.types


def test_left_rows_are_filled_in_place() -> None:
    """A left row is shown with nulls, keeps its slot when its first match is added, and later ones are appended."""
    schema = ChangelogSchema(*COLUMNS, JoinType.LEFT)
    decoder = Decoder(schema)
    history = sampled(300)[0]
    tables = GenerationTables(*INPUTS, JoinType.LEFT)
    users = [record for record in placed(history) if record[0] == 0]
    accounts = [record for record in placed(history) if record[0] == 1]
    operator = ModelOperator(schema, KEYS)
    tables.fold(decoder.decode(operator.run(users)))
    assert all(row[3:] == (None, None) for row in rows_of(tables.joined))
    alone = [row[:3] for row in rows_of(tables.joined)]
    tables.fold(decoder.decode(operator.run(accounts)))
    assert [row[:3] for row in rows_of(tables.joined)][: len(alone)] == alone


def test_tables_take_no_columns_at_all() -> None:
    """A page without columns still has its rows."""
    tables = GenerationTables(*INPUTS, JoinType.INNER)
    assert tables.joined.take(np.empty(0, np.int64), []).num_rows == 0
    assert isinstance(tables.left.take(np.empty(0, np.int64), [0]), pa.RecordBatch)


def test_a_match_without_rows_waits_once() -> None:
    """It waits until both rows have been added, in either order."""
    schema = ChangelogSchema(*COLUMNS, JoinType.INNER)
    decoder = Decoder(schema)
    for history in sampled(40, number=5):
        lines = ModelOperator(schema, KEYS).run(placed(history))
        alone = decoder.decode(lines)
        nothing = decoder.decode([])
        tables = GenerationTables(*INPUTS, JoinType.INNER)
        only_matches = replace(alone, rows=nothing.rows, rejects=nothing.rejects)
        assert not tables.fold(only_matches)
        assert sum(map(len, tables._waiting)) == alone.matches.num_rows
        for side in (Side.RIGHT, Side.LEFT):
            rows = [nothing.rows[0], nothing.rows[1]]
            rows[side] = alone.rows[side]
            tables.fold(replace(nothing, rows=(rows[0], rows[1])))
        assert sum(map(len, tables._waiting)) == 0
        assert len(rows_of(tables.joined)) == len(set(zip(*alone.matches.to_pydict().values(), strict=True)))


def test_the_newest_rejects_are_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """The table keeps the newest; all are counted."""
    monkeypatch.setattr(generation, "MAX_DEAD_LETTERS", 3)
    schema = ChangelogSchema(*COLUMNS, JoinType.INNER)
    lines = ModelOperator(schema, KEYS).run(placed(packed(sampled(60))))
    changes = Decoder(schema).decode(lines)
    tables = GenerationTables(*INPUTS, JoinType.INNER)
    tables.fold(changes)
    rejects = [tuple(row.values())[:3] for row in changes.rejects.to_pylist()]
    assert len(rejects) > 3
    newest = [(INPUTS[side].name, partition, offset) for side, partition, offset in rejects[-3:]]
    assert [(row[0], *row[2:4]) for row in rows_of(tables.dead_letters)] == newest
    assert sum(tables.rejects_by_source.values()) == len(rejects)
