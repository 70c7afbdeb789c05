"""Histories: what people may send to the two topics of a join, in which order, to which partition and at what time."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any

from hypothesis import Phase, given, seed, settings
from hypothesis import strategies as st
from tests.reference.outcome import Placed
from tests.reference.records import SourceRecord

from evertable.changelog.schema import Side
from evertable.config.columns import Column, ColumnType

PARTITIONS = 3
KEY = "userId"
BASE_TIME = 1_700_000_000_000


def _columns(**types: str) -> tuple[Column, ...]:
    return tuple(Column(name, ColumnType.parse(spelled)) for name, spelled in types.items())


COLUMNS = (
    _columns(userId="string", name="string", age="long"),
    _columns(userId="string", accountType="string", balance="double"),
)
"""The columns of the sources that histories are written for."""

MISSING = object()
KEYS: tuple[Any, ...] = ("a", "b", "é", "", None, MISSING)
"""Few, so that they meet: real ones, the empty string (which is an ordinary key), null, and no such field at all."""

JUNK: tuple[bytes | None, ...] = (
    None,
    b"",
    b"not json",
    b'{"userId": 42}',
    b'{"userId": "a"} tail',
    b'{"userId": "\xff"}',
    b'{"userId": "a", "age": "42", "balance": true}',
    b"[1]",
)
"""Values that are rejected on either side."""


@dataclass(frozen=True)
class Sent:
    """One record of a history; ``junk`` is an index into JUNK, or None for a good record.

    The prefix goes before the key, so that several histories can share a topic. Only without one there is a key that
    is the empty string.
    """

    side: Side
    partition: int
    timestamp: int
    key: Any
    number: int
    junk: int | None = None
    prefix: str = ""

    @property
    def value(self) -> bytes | None:
        """The record's bytes."""
        if self.junk is not None:
            return JUNK[self.junk]
        fields: dict[str, Any] = {}
        if self.key is not MISSING:
            fields[KEY] = None if self.key is None else self.prefix + self.key
        if self.side is Side.LEFT:
            fields |= {"name": f"name {self.number}", "age": self.number}
        else:
            fields |= {"accountType": f"type {self.number}", "balance": self.number}
        return json.dumps(fields, ensure_ascii=False).encode()


History = tuple[Sent, ...]


def histories(max_size: int = 14) -> st.SearchStrategy[History]:
    """Records of both sides: few keys, equal and late timestamps, junk between, some of them sent twice."""
    records = st.builds(
        Sent,
        side=st.sampled_from(Side),
        partition=st.integers(0, PARTITIONS - 1),
        timestamp=st.integers(0, 4).map(lambda tick: BASE_TIME + tick),
        key=st.sampled_from(KEYS[:2] * 3 + KEYS),
        number=st.integers(0, 99),
        junk=st.sampled_from((None,) * 40 + tuple(range(len(JUNK)))),
    )
    return st.lists(records, max_size=max_size).flatmap(
        lambda sent: (
            st.lists(st.sampled_from(sent), max_size=2).map(lambda again: (*sent, *again)) if sent else st.just(())
        )
    )


def sampled(count: int, number: int = 0, max_size: int = 14) -> list[History]:
    """That many histories for a test that cannot run once for each; the same for the same number."""
    found: list[History] = []

    @seed(number)
    @settings(max_examples=count, database=None, phases=[Phase.generate], deadline=None)
    @given(histories(max_size))
    def note(history: History) -> None:
        found.append(history)

    note()
    return found


def packed(together: Sequence[History]) -> list[Sent]:
    """Many histories as one, interleaved; apart by a prefix of their keys, which the first of them goes without."""
    marked = [
        [replace(sent, prefix=f"{number}/" if number else "") for sent in history]
        for number, history in enumerate(together)
    ]
    return [sent for turn in zip_longest(*marked) for sent in turn if sent is not None]


def placed(records: Iterable[Sent]) -> list[Placed]:
    """The records as Kafka would keep them in fresh topics: numbered from 0 in each partition of each."""
    ends: Counter[tuple[Side, int]] = Counter()
    kept: list[Placed] = []
    for sent in records:
        offset = ends[sent.side, sent.partition]
        ends[sent.side, sent.partition] += 1
        kept.append((sent.side, SourceRecord(sent.partition, offset, sent.timestamp, sent.value)))
    return kept
