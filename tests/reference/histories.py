"""Histories: records that may be sent to the two topics of a join, with partition, order and time."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from random import Random
from typing import Any

from hypothesis import strategies as st
from tests.reference.outcome import Placed
from tests.reference.records import SourceRecord

from evertable.changelog.schema import Side
from evertable.schema.columns import Column, ColumnType

PARTITIONS = 3
KEY = "userId"
BASE_TIME = 1_700_000_000_000


def _columns(**types: str) -> tuple[Column, ...]:
    return tuple(Column(name, ColumnType.parse(spelled)) for name, spelled in types.items())


COLUMNS = (
    _columns(userId="string", name="string", age="long"),
    _columns(userId="string", accountType="string", balance="double"),
)
"""The columns of the two sources of a history."""

MISSING = object()
KEYS: tuple[Any, ...] = ("a", "a", "a", "b", "b", "é", "", None, MISSING)
"""Few keys, so that rows match: texts, the empty string (an ordinary key), null, and a missing field."""

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
"""Values that are rejected on both sides."""


@dataclass(frozen=True)
class Sent:
    """One record of a history; ``junk`` is an index into JUNK, or None for a good record.

    The prefix precedes the key, so that several histories can share a topic. Without one a key may be the empty string.
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
        """The value of the record."""
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
Choose = Callable[[Sequence[Any]], Any]


def histories(max_size: int = 14) -> st.SearchStrategy[History]:
    """Records of both sides: few keys, equal and late timestamps, some junk, some sent twice."""

    @st.composite
    def drawn(draw: st.DrawFn) -> History:
        return _history(lambda options: draw(st.sampled_from(options)), range(max_size + 1))

    return drawn()


def sampled(count: int, number: int = 0, min_size: int = 6, max_size: int = 20) -> list[History]:
    """Returns ``count`` histories, always the same ones for the same ``number``."""
    choose = Random(number).choice
    return [_history(choose, range(min_size, max_size + 1)) for _ in range(count)]


def _history(choose: Choose, sizes: Sequence[int]) -> History:
    records: list[Sent] = []
    for number in range(choose(sizes)):
        if records and choose(range(10)) == 9:
            records.append(choose(records))
            continue
        records.append(
            Sent(
                side=choose(tuple(Side)),
                partition=choose(range(PARTITIONS)),
                timestamp=BASE_TIME + choose(range(5)),
                key=choose(KEYS),
                number=number,
                junk=choose(range(len(JUNK))) if choose(range(10)) == 9 else None,
            )
        )
    return tuple(records)


def packed(together: Sequence[History]) -> list[Sent]:
    """Interleaves several histories to one; all but the first have a prefix of their keys, so they do not match."""
    marked = [
        [replace(sent, prefix=f"{number}/" if number else "") for sent in history]
        for number, history in enumerate(together)
    ]
    return [sent for turn in zip_longest(*marked) for sent in turn if sent is not None]


def placed(records: Iterable[Sent]) -> list[Placed]:
    """Returns the records as Kafka stores them in new topics, with offsets from 0 in each partition."""
    ends: Counter[tuple[Side, int]] = Counter()
    kept: list[Placed] = []
    for sent in records:
        offset = ends[sent.side, sent.partition]
        ends[sent.side, sent.partition] += 1
        kept.append((sent.side, SourceRecord(sent.partition, offset, sent.timestamp, sent.value)))
    return kept
