"""The decoder returns what the encoder was given, for single records and batches."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.changelog.encoder import Encoder, Match, SourceRef, batch, row_id
from tests.changelog.strategies import CHANNELS, Ends, Matches, Record, Reject, Row, schemas_and_records

from evertable.changelog.changes import Barrier, Changes
from evertable.changelog.decode import Decoder
from evertable.changelog.schema import HEADER, MAX_MATCHES, ChangelogSchema, Side
from evertable.errors import ChangelogError
from evertable.schema.columns import Column, ColumnType
from evertable.schema.joins import JoinType

LEFT, RIGHT = Side.LEFT, Side.RIGHT


def columns(**types: str) -> tuple[Column, ...]:
    return tuple(Column(name, ColumnType.parse(spelled)) for name, spelled in types.items())


def users_and_accounts(join: JoinType = JoinType.INNER) -> ChangelogSchema:
    users = columns(userId="string", name="string", age="long")
    accounts = columns(userId="string", balance="double")
    return ChangelogSchema(users, accounts, join)


def expected_rows(records: list[Record], side: Side) -> list[list[Any]]:
    rows = [record for record in records if isinstance(record, Row) and record.of.side is side]
    return [[row_id(row.of.partition, row.of.offset), row.of.timestamp, *row.values] for row in rows]


def expected_matches(schema: ChangelogSchema, records: list[Record]) -> list[tuple[int, int, int]]:
    pairs = []
    for record in records:
        if isinstance(record, Reject | Ends):
            continue
        own = row_id(record.of.partition, record.of.offset)
        for match in record.matches:
            on_left = record.of.side is LEFT
            left, right = (own, match.id) if on_left else (match.id, own)
            chosen = {JoinType.NATURAL: RIGHT, JoinType.ASOF: LEFT}.get(schema.join)
            order = 0 if chosen is None else record.of.timestamp if chosen is record.of.side else match.timestamp
            pairs.append((left, right, order))
    return pairs


def plain(batch: pa.RecordBatch) -> list[list[Any]]:
    return [list(row) for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)]


@settings(max_examples=100)
@given(schemas_and_records())
def test_every_record_comes_back(drawn: tuple[ChangelogSchema, list[Record]]) -> None:
    """Rows of all types with nulls, matches of all joins and rejects are decoded in the order of the records."""
    schema, records = drawn
    encoder = Encoder(schema)
    changes = Decoder(schema).decode([record.encode(encoder) for record in records])
    for side in Side:
        changes.rows[side].validate(full=True)
        assert plain(changes.rows[side]) == expected_rows(records, side)
    assert [tuple(pair) for pair in plain(changes.matches)] == expected_matches(schema, records)
    barriers = [record for record in records if isinstance(record, Ends)]
    assert changes.barriers == tuple(Barrier(record.channel, CHANNELS, record.ends) for record in barriers)
    rejects = [record for record in records if isinstance(record, Reject)]
    assert plain(changes.rejects) == [[*reject.of, reject.reason, reject.raw] for reject in rejects]
    assert changes.records == len(records)


def test_the_bytes_of_a_row_are_those_of_the_document() -> None:
    """A row of the format's document, written by hand."""
    schema = users_and_accounts(JoinType.NATURAL)
    record = Encoder(schema).row(SourceRef(LEFT, 2, 5, 1000), ["u1", None, 42], [Match(7, 900), Match(8, 901)])
    header = bytes([3, 1, 0, 2]) + (2).to_bytes(4, "little")
    header += (5).to_bytes(8, "little") + (1000).to_bytes(8, "little") + (2).to_bytes(4, "little")
    body = bytes([0b010]) + (2).to_bytes(4, "little") + (2).to_bytes(4, "little") + (42).to_bytes(8, "little") + b"u1"
    matches = b"".join(number.to_bytes(8, "little") for number in (7, 900, 8, 901))
    assert record == header + body + matches
    assert HEADER.itemsize == 28


def test_arrow_types_are_the_columns_types() -> None:
    """Ids and timestamps are first, then each column in the type that the documentation names."""
    wide = columns(
        s="string",
        b="boolean",
        i="int",
        l="long",
        f="float",
        d="double",
        m="decimal(9,2)",
        t="date",
        w="timestamp",
        j="json",
    )
    schema = ChangelogSchema(wide, wide, JoinType.LEFT)
    rows = Decoder(schema).decode([]).rows[LEFT]
    assert [(field.name, str(field.type)) for field in rows.schema] == [
        ("_id", "int64"), ("_ts", "int64"), ("s", "string"), ("b", "bool"), ("i", "int32"), ("l", "int64"),
        ("f", "float"), ("d", "double"), ("m", "decimal128(9, 2)"), ("t", "date32[day]"),
        ("w", "timestamp[us, tz=UTC]"), ("j", "string"),
    ]  # fmt: skip


def test_a_long_list_of_matches_takes_several_records() -> None:
    """No record has more than 5,000, and together they have all of them."""
    schema = users_and_accounts()
    matches = [Match(other, 0) for other in range(2 * MAX_MATCHES + 1)]
    records = list(Encoder(schema).row_in_chunks(SourceRef(LEFT, 0, 3, 0), ["u", "n", 1], matches))
    assert len(records) == 3
    changes = Decoder(schema).decode(records)
    assert changes.rows[LEFT].num_rows == 1
    assert changes.matches.column("right").to_pylist() == list(range(2 * MAX_MATCHES + 1))
    assert set(changes.matches.column("left").to_pylist()) == {3}


def test_the_first_kilobyte_of_a_rejected_value_is_kept() -> None:
    """Dead letters do not contain whole documents."""
    schema = users_and_accounts()
    record = Encoder(schema).reject(SourceRef(RIGHT, 0, 0, 0), "INVALID_JSON: no", b"y" * 5000)
    assert Decoder(schema).decode([record]).rejects.column("raw").to_pylist() == [b"y" * 1024]


def test_a_reject_may_be_outside_of_the_row_ids() -> None:
    """Some records are rejected for exactly that, with ID_OUT_OF_RANGE."""
    schema = users_and_accounts()
    record = Encoder(schema).reject(SourceRef(LEFT, 600_000, 2**44, 0), "ID_OUT_OF_RANGE: no", b"{}")
    rejects = Decoder(schema).decode([record]).rejects
    assert (rejects.column("partition")[0].as_py(), rejects.column("offset")[0].as_py()) == (600_000, 2**44)


def broken(record: bytes, at: int, new: bytes) -> bytes:
    return record[:at] + new + record[at + len(new) :]


ROW = Encoder(users_and_accounts()).row(SourceRef(LEFT, 3, 99, 5), ["ü1", "Ann", 42], [Match(7, 0)])
REJECT = Encoder(users_and_accounts()).reject(SourceRef(RIGHT, 3, 99, 5), "INVALID_JSON: é", b"{")


@pytest.mark.parametrize(
    ("record", "what"),
    [
        (b"", "has only 0 bytes"),
        (ROW[:27], "has only 27 bytes"),
        (broken(ROW, 0, b"\x01"), "has format version 1; this program reads version 3"),
        (broken(ROW, 1, b"\x07"), "has the unknown kind 7"),
        (broken(ROW, 2, b"\x02"), "has the unknown side 2"),
        (broken(ROW, 3, b"\x02"), "has mode 2, which its kind and side do not have in inner joins"),
        (broken(ROW, 3, b"\x00"), "has 8 bytes for 1 matches in mode 0"),
        (broken(ROW, 4, b"\xff\xff\xff\xff"), "has 8 bytes for 4294967295 matches in mode 1"),
        (broken(ROW, 8, (-1).to_bytes(8, "little", signed=True)), "has an impossible partition or offset"),
        (ROW[:40], "is 5 bytes too short for its columns"),
        (broken(ROW, 29, b"\xff\x00\x00\x00"), "has a text that ends before it begins"),
        (broken(ROW, 33, b"\xff\x00\x00\x00"), "has a text that ends after the record"),
        (broken(ROW, 29, b"\x01\x00\x00\x00"), "has an invalid string in column 'userId'"),
        (ROW + b"\x00", "has 9 bytes for 1 matches in mode 1"),
        (ROW[:-8] + b"\xff" * 8, "matches a negative row id"),
        (broken(REJECT, 4, b"\xff\x00\x00\x00"), "has a reason of 255 bytes"),
        (broken(REJECT, 4, b"\x0f\x00\x00\x00"), "has a reason that is not valid UTF-8"),
        (broken(REJECT, 3, b"\x01"), "keeps 1 of its value"),
        (REJECT + b"x" * 1024, "keeps 1025 of its value"),
    ],
)
def test_a_record_that_cannot_be_read_is_named(record: bytes, what: str) -> None:
    """The error names the record, its source record, and what is wrong with it."""
    decoder = Decoder(users_and_accounts())
    with pytest.raises(ChangelogError, match=what) as raised:
        decoder.decode([ROW, record, ROW], lambda i: f"record at topic[0], offset {i}")
    assert "record at topic[0], offset 1" in str(raised.value)
    if len(record) >= HEADER.itemsize and "impossible" not in what:
        assert "partition 3, offset 99" in str(raised.value)


@pytest.mark.parametrize(
    ("type_", "entry", "what"),
    [
        ("boolean", b"\x02", "has 2 in boolean column 'value'"),
        ("float", b"\x00\x00\x80\x7f", "has inf in number column 'value'"),
        ("double", b"\x00\x00\x00\x00\x00\x00\xf8\x7f", "has nan in number column 'value'"),
        ("decimal(3,1)", (1000).to_bytes(16, "little"), r"has an invalid decimal\(3,1\) in column 'value'"),
    ],
)
def test_a_value_that_its_column_cannot_hold_is_named(type_: str, entry: bytes, what: str) -> None:
    """The reader detects a faulty writer before its values get into a table."""
    schema = ChangelogSchema(columns(value=type_), columns(value=type_), JoinType.INNER)
    record = broken(Encoder(schema).row(SourceRef(LEFT, 3, 99, 5), [None]), 28, b"\x00" + entry)
    with pytest.raises(ChangelogError, match=what):
        Decoder(schema).decode([record])


def test_nothing_decodes_to_nothing() -> None:
    """An empty batch has all its columns."""
    changes = Decoder(users_and_accounts()).decode([])
    assert isinstance(changes, Changes)
    assert (changes.rows[LEFT].num_rows, changes.matches.num_rows, changes.rejects.num_rows) == (0, 0, 0)
    assert changes.rows[RIGHT].schema.names == ["_id", "_ts", "userId", "balance"]


def test_matches_alone_need_no_row() -> None:
    """A record of kind 2 may be read before the row that it belongs to."""
    schema = users_and_accounts(JoinType.ASOF)
    record = Matches(SourceRef(RIGHT, 0, 1, 50), [Match(9, 40)]).encode(Encoder(schema))
    assert plain(Decoder(schema).decode([record]).matches) == [[9, 1, 40]]


@settings(max_examples=100)
@given(schemas_and_records(), st.sets(st.integers(1, 20)), st.booleans())
def test_a_batch_decodes_to_the_same_as_its_records(
    drawn: tuple[ChangelogSchema, list[Record]], cuts: set[int], lone_as_batch: bool
) -> None:
    """It does not matter how they are divided into messages."""
    schema, records = drawn
    values = [record.encode(Encoder(schema)) for record in records]
    bounds = sorted({0, *(cut for cut in cuts if cut < len(values)), len(values)})
    parts = [values[start:end] for start, end in pairwise(bounds)]
    messages = [batch(part) if len(part) > 1 or lone_as_batch else part[0] for part in parts]
    assert Decoder(schema).decode(messages) == Decoder(schema).decode(values)


BATCH = batch([ROW, REJECT, ROW])
END = 28 + 3 * 4


@pytest.mark.parametrize(
    ("message", "what"),
    [
        (BATCH[:27], "has only 27 bytes"),
        (broken(BATCH, 0, b"\x01"), "has format version 1"),
        (broken(BATCH, 4, b"\x00"), f"has {len(BATCH)} bytes for a batch of 0 records"),
        (broken(BATCH, 4, b"\xff\xff\xff\xff"), f"has {len(BATCH)} bytes for a batch of 4294967295 records"),
        (BATCH[: END - 1], f"has {END - 1} bytes for a batch of 3 records"),
        (BATCH[:-1], "has a record that ends out of bounds"),
        (broken(BATCH, 28, b"\xff\xff\xff\xff"), "has a record that ends out of bounds"),
        (broken(BATCH, 32, b"\x00\x00\x00\x00"), "has a record that ends out of bounds"),
        (BATCH + b"x", "has bytes after its last record"),
        (batch([ROW, b""]), "has only 0 bytes"),
        (batch([ROW, broken(ROW, 0, b"\x01")]), "has format version 1"),
        (batch([ROW, batch([ROW])]), "has the unknown kind 4"),
    ],
)
def test_a_malformed_batch_is_named(message: bytes, what: str) -> None:
    decoder = Decoder(users_and_accounts())
    with pytest.raises(ChangelogError, match=what) as raised:
        decoder.decode([ROW, message, ROW], lambda i: f"record at topic[0], offset {i}")
    assert "record at topic[0], offset 1 " in str(raised.value)


BARRIER = Encoder(users_and_accounts()).barrier({(LEFT, 3): 99})
QUARANTINE = Encoder(users_and_accounts()).quarantine(b"hot", RIGHT, [5, 6])


@pytest.mark.parametrize(
    ("record", "what"),
    [
        (BARRIER[:-1], "has 15 bytes for the 1 ends of a barrier"),
        (BARRIER[:30], "has -14 bytes for the 1 ends of a barrier"),
        (broken(BARRIER, 44, b"\x02"), "has an end of an unknown side"),
        (QUARANTINE[:-1], "has 15 bytes for 2 quarantined rows"),
        (broken(QUARANTINE, 28, b"\xff"), "has -236 bytes for 2 quarantined rows"),
        (QUARANTINE[:-1] + b"\xff", "quarantines a negative row id"),
    ],
)
def test_a_damaged_barrier_or_quarantine_is_named(record: bytes, what: str) -> None:
    with pytest.raises(ChangelogError, match=f"record 1 {what}"):
        Decoder(users_and_accounts()).decode([ROW, record])


def test_a_quarantine_names_rows_of_both_sides_and_the_key() -> None:
    """Rows that came later are marked themselves, and keep their columns."""
    encoder = Encoder(users_and_accounts())
    later = encoder.quarantined_row(SourceRef(LEFT, 0, 9, 5), ["hot", "Ann", 42])
    changes = Decoder(users_and_accounts()).decode([encoder.quarantine(b"hot", LEFT, [1]), QUARANTINE, later, later])
    assert [ids.tolist() for ids in changes.quarantined] == [[9, 9, 1], [5, 6]]
    assert changes.quarantined_keys == (b"hot",)
    assert plain(changes.rows[LEFT]) == [[9, 5, "hot", "Ann", 42]] * 2
    assert changes.matches.num_rows == 0
