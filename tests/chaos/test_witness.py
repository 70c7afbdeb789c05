"""Whatever viewers must never see is recorded as a problem."""

from __future__ import annotations

from collections import Counter
from typing import Any

from tests.chaos.oracle import differences
from tests.chaos.viewers import TABLES, Emptiness, Witness


def page(generation: int = 1, publication: int = 1, total: int = 2, **columns: list[str | None]) -> dict[str, Any]:
    return {
        "table": "final_ui",
        "generation": generation,
        "publication": publication,
        "total": total,
        "columns": [{"name": name} for name in columns],
        "rows": [list(row) for row in zip(*columns.values(), strict=True)],
    }


def test_rows_of_two_topics_in_one_generation() -> None:
    witness = Witness()
    witness.saw(page(name=["a0 1", None], accountType=["b0", "b0"]), had_rows=False)
    witness.saw(page(name=["a1 1", "a0 2"], accountType=["b0", "b0"]), had_rows=True)
    assert witness.marks == {(1, "name"): {"a0", "a1"}, (1, "accountType"): {"b0"}}


def test_two_generations_under_one_publication() -> None:
    witness = Witness()
    witness.saw(page(generation=1), had_rows=False)
    witness.saw(page(generation=2, publication=2), had_rows=True)
    assert not witness.problems
    witness.saw(page(generation=1, publication=2), had_rows=True)
    assert witness.problems == {"publication 2 was of generation 2 and of 1": 1}


def test_a_table_that_is_suddenly_empty() -> None:
    witness = Witness()
    witness.saw(page(total=0), had_rows=False)
    assert not witness.empty
    witness.saw(page(total=0), had_rows=True)
    assert witness.empty == {Emptiness("final_ui", 1)}


def test_missing_and_surplus_rows_are_reported() -> None:
    right = {name: Counter({("a",): 1, ("b",): 1}) for name in TABLES}
    assert differences(right, right) == []
    wrong = {**right, "final_ui": Counter({("a",): 2})}
    assert differences(right, wrong) == [
        "final_ui: 2 rows instead of 2; missing 1 [('b',)]; too many 1 [('a',)]",
    ]
