"""Bad input ends as rejects with a reason, and its neighbours are unharmed."""

from __future__ import annotations

import pytest
from tests.engine.conftest import NewGeneration
from tests.engine.rig import Sent

from evertable.changelog.schema import Side
from evertable.config import JoinType

BAD = {
    b'{"userId": "k"': "INVALID_JSON",
    b"not json": "INVALID_JSON",
    b"": "NOT_AN_OBJECT",
    b"[1, 2]": "NOT_AN_OBJECT",
    b"42": "NOT_AN_OBJECT",
    b'{"userId": "k"} tail': "TRAILING_TEXT",
    b'{"userId": "k"}{"userId": "k"}': "TRAILING_TEXT",
    b'{"userId": "\xff"}': "INVALID_UTF8",
    b'{"userId": "\\ud800"}': "INVALID_UTF8",
    b'{"userId": "k", "age": "42"}': "WRONG_TYPE",
    b'{"userId": "k", "age": 1.5}': "WRONG_TYPE",
    b'{"userId": "k", "age": true}': "WRONG_TYPE",
    b'{"userId": "k", "age": 9223372036854775808}': "OUT_OF_RANGE",
    b'{"userId": "k", "name": 42}': "WRONG_TYPE",
    b'{"userId": "k", "name": true}': "WRONG_TYPE",
    b'{"userId": "k", "name": {"first": "n"}}': "WRONG_TYPE",
    b'{"userId": 42}': "WRONG_TYPE",
    b'{"userId": "k", "extra": ' + b"[" * 2000 + b"]" * 2000 + b"}": "TOO_DEEP",
    b'{"userId": "k", "name": "' + b"n" * 2_100_000 + b'"}': "ROW_TOO_LARGE",
    None: "TOMBSTONE",
}


@pytest.mark.parametrize("trigger", ["realtime", "microbatch"])
def test_every_kind_of_bad_record_is_rejected_and_its_neighbours_are_not(
    new_generation: NewGeneration, trigger: str
) -> None:
    """A good record between any two bad ones comes through; each bad one is a reject with its place and reason."""
    good = Sent(Side.LEFT, b'{"userId": "k", "name": "n", "age": 42, "extra": [1]}')
    records = [record for bad in BAD for record in (Sent(Side.LEFT, bad), good)]
    records.append(Sent(Side.RIGHT, b'{"userId": "k", "balance": 42}'))
    with new_generation(JoinType.INNER, trigger) as generation:
        places = generation.start().send(records)
        generation.read()
        expected = {generation.sent[place].value: place for place in places if generation.sent[place].value in BAD}
        assert {place: reason.split(":")[0] for place, reason in generation.rejects.items()} == {
            place: BAD[value] for value, place in expected.items()
        }
        rows = generation.rows(Side.LEFT)
        assert list(rows.values()) == [{"userId": "k", "name": "n", "age": 42}] * len(BAD)
        assert list(generation.rows(Side.RIGHT).values()) == [{"userId": "k", "accountType": None, "balance": 42.0}]
        assert sum(changes.matches.num_rows for changes in generation.changes) == len(BAD)
