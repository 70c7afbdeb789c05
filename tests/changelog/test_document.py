"""docs/CHANGELOG-FORMAT.md agrees with the code."""

from __future__ import annotations

import re

import numpy as np
from tests.markdown import ROOT, table

from evertable.changelog.ids import MAX_OFFSET, MAX_PARTITION, row_ids
from evertable.changelog.schema import (
    HEADER,
    MAX_MATCHES,
    MAX_RAW,
    VERSION,
    MatchMode,
    RecordKind,
    RejectMode,
    RowLayout,
)
from evertable.schema.columns import Column, ColumnType, Kind

DOCUMENT = (ROOT / "docs" / "CHANGELOG-FORMAT.md").read_text()
PLAIN = DOCUMENT.replace("`", "")


def dtype(spelled: str) -> np.dtype[np.void]:
    """Converts the document's types, in bits, to numpy's, in bytes: ``u8`` is one byte."""
    kind, bits = spelled[0], int(spelled[1:])
    return np.dtype("V16" if bits == 128 else f"<{kind}{bits // 8}")


def test_the_header() -> None:
    """Each field has the position and the type of the table, and all are 28 bytes."""
    fields = {name: (int(at), dtype(type_)) for at, type_, name, _ in table(PLAIN, "| at |")}
    assert HEADER.fields is not None
    assert fields == {name: (field[1], field[0]) for name, field in HEADER.fields.items()}
    assert f"## Header: {HEADER.itemsize} bytes" in DOCUMENT


def test_the_fixed_entries() -> None:
    """Each type's entry has the size in the table, and no type is missing."""
    sizes = {
        name.partition("(")[0]: dtype(entry)
        for names, entry, _ in table(PLAIN, "| column type |")
        for name in names.split(", ")
    }
    assert sizes.keys() == {kind.value for kind in Kind}
    for kind in Kind:
        type_ = ColumnType(Kind.DECIMAL, 5, 2) if kind is Kind.DECIMAL else ColumnType(kind)
        assert RowLayout([Column("it", type_)]).head["c0"] == sizes[kind]


def test_the_numbers_in_the_text() -> None:
    """Versions, kinds, modes and limits."""
    meanings = {name: meaning for _, _, name, meaning in table(PLAIN, "| at |")}
    assert meanings["version"].startswith(f"{VERSION}.")
    assert meanings["kind"] == ", ".join(f"{kind.value} {kind.name.lower()}" for kind in RecordKind)
    none, ids, timed, quarantined = MatchMode
    modes = f"{none} no matches, {ids} matched ids, {timed} matched ids with timestamps"
    modes += f", {quarantined} a row without its matches"
    rejects = f"{RejectMode.VALUE} has a value, {RejectMode.TOMBSTONE} tombstone"
    assert meanings["mode"] == f"row, matches: {modes}; reject: {rejects}"
    assert f"at most {MAX_MATCHES:,} matches" in DOCUMENT
    assert f"first {MAX_RAW:,} bytes" in DOCUMENT
    shift = re.search(r"`partition << (\d+) \| offset`", DOCUMENT)
    assert shift is not None
    assert row_ids(np.array([1]), np.array([0])).tolist() == [1 << int(shift[1])]
    assert f"partition ≥ {MAX_PARTITION + 1:,} or offset ≥ 2^{MAX_OFFSET.bit_length()}" in DOCUMENT
