"""The decoder never crashes on garbage, and never reads beyond a record."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.changelog.encoder import Encoder, Match, SourceRef, batch
from tests.changelog.strategies import records, schemas

from evertable.changelog.changes import Changes
from evertable.changelog.decode import Decoder
from evertable.changelog.schema import ChangelogSchema, Side
from evertable.errors import ChangelogError
from evertable.schema.columns import Column, ColumnType
from evertable.schema.joins import JoinType


@st.composite
def damaged(draw: st.DrawFn) -> tuple[ChangelogSchema, list[bytes]]:
    """Records of which some were truncated, lengthened, overwritten or replaced."""
    schema = draw(schemas())
    encoder = Encoder(schema)
    values = [record.encode(encoder) for record in draw(st.lists(records(schema), min_size=1, max_size=5))]
    if draw(st.booleans()):
        values.insert(draw(st.integers(0, len(values))), batch(values))
    for i in draw(st.sets(st.integers(0, len(values) - 1))):
        values[i] = draw(_damages(values[i]))
    return schema, values


def _damages(record: bytes) -> st.SearchStrategy[bytes]:
    places = st.integers(0, max(0, len(record) - 1))
    return (
        places.map(lambda end: record[:end])
        | st.binary(min_size=1, max_size=40).map(lambda more: record + more)
        | st.tuples(places, st.binary(min_size=1, max_size=8)).map(
            lambda new: record[: new[0]] + new[1] + record[new[0] + len(new[1]) :]
        )
        | st.binary(max_size=80)
        | st.binary(max_size=80).map(lambda rest: record[:4] + rest)
    )


def decoded(decoder: Decoder, values: list[bytes]) -> Changes | None:
    try:
        return decoder.decode(values)
    except ChangelogError:
        return None


def joined(parts: list[pa.RecordBatch]) -> pa.Table:
    return pa.Table.from_batches(parts)


@settings(max_examples=100)
@given(damaged())
def test_records_are_decoded_as_if_they_were_alone(drawn: tuple[ChangelogSchema, list[bytes]]) -> None:
    """Together they decode to the same as one by one; if one cannot be read, decoding them together fails."""
    schema, values = drawn
    decoder = Decoder(schema)
    alone = [decoded(decoder, [value]) for value in values]
    together = decoded(decoder, values)
    if together is None:
        assert None in alone
        return
    each = [changes for changes in alone if changes is not None]
    assert len(each) == len(values)
    for part in (*together.rows, together.matches, together.rejects):
        part.validate(full=True)
    for side in (0, 1):
        assert joined([together.rows[side]]).equals(joined([changes.rows[side] for changes in each]))
    assert joined([together.matches]).equals(joined([changes.matches for changes in each]))
    assert joined([together.rejects]).equals(joined([changes.rejects for changes in each]))


@settings(max_examples=50)
@given(schemas(), st.lists(st.binary(max_size=100), max_size=6))
def test_random_bytes_never_crash(schema: ChangelogSchema, values: list[bytes]) -> None:
    """They are rejected, or they happen to be records."""
    decoded(Decoder(schema), values)


@pytest.mark.parametrize("join", JoinType)
def test_any_changed_byte_is_rejected_or_valid(join: JoinType) -> None:
    """Each byte is set to several values, and the record is cut at each length."""
    columns = tuple(Column(type_, ColumnType.parse(type_)) for type_ in ("string", "boolean", "decimal(5,2)", "json"))
    schema = ChangelogSchema(columns, columns, join)
    decoder, encoder = Decoder(schema), Encoder(schema)
    of = SourceRef(Side.LEFT, 1, 2, 3)
    row = encoder.row(of, ["née", True, Decimal("1.25"), "[1]"], [Match(4, 5), Match(6, 7)])
    for record in (row, encoder.matches(of, [Match(4, 5)]), encoder.reject(of, "INVALID_JSON: é", b"{")):
        damages = [record[:end] for end in range(len(record))]
        damages += [record[:at] + bytes([new]) + record[at + 1 :] for at in range(len(record)) for new in _BYTES]
        for value in damages:
            if (changes := decoded(decoder, [row, value, row])) is not None:
                for batch in (*changes.rows, changes.matches, changes.rejects):
                    batch.validate(full=True)


_BYTES = (0, 1, 2, 3, 4, 0x7F, 0x80, 0xFF)
