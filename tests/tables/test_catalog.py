"""All names flip at once, and publication numbers only grow."""

from __future__ import annotations

import threading

import pytest

from evertable.schema.columns import Column, ColumnType
from evertable.tables.bounded import BoundedTable
from evertable.tables.catalog import Catalog

COLUMNS = (Column("generation", ColumnType.parse("long")),)


def tables(generation: int) -> dict[str, BoundedTable]:
    made = {name: BoundedTable(COLUMNS, 1) for name in ("users_ui", "accounts_ui", "final_ui")}
    for table in made.values():
        table.append([(generation,)])
    return made


def test_names_have_tables_from_the_first_publication_on() -> None:
    """The operators' tables have theirs before; publication numbers continue from the last one."""
    catalog = Catalog(["users_ui", "accounts_ui", "final_ui"], {"logs": BoundedTable(COLUMNS, 1)})
    catalog.count_from(41)
    assert (catalog.current.number, catalog.current.generation, list(catalog.current.tables)) == (41, 0, ["logs"])
    assert catalog.ready is False
    assert catalog.names == ("users_ui", "accounts_ui", "final_ui", "logs")
    publication = catalog.publish(7, tables(7))
    assert (publication.number, publication.generation) == (42, 7)
    assert publication is catalog.current
    assert len(publication.tables) == 4
    assert Catalog([], {}).ready
    assert set(publication.tables) == set(catalog.names)


def test_a_publication_has_tables_of_one_generation() -> None:
    """This holds while another thread flips; numbers grow even for a rollback."""
    catalog = Catalog(["users_ui", "accounts_ui", "final_ui"])
    generations = [tables(1), tables(2)]
    catalog.publish(1, generations[0])
    done = threading.Event()

    def flip() -> None:
        for number in range(2_000):
            catalog.publish(number % 2 + 1, generations[number % 2])
        done.set()

    flipping = threading.Thread(target=flip)
    flipping.start()
    last = 0
    while not done.is_set():
        seen = catalog.current
        assert seen.number >= last
        last = seen.number
        shown = {table.snapshot().column(0)[0].as_py() for table in seen.tables.values()}
        assert shown == {seen.generation}
    flipping.join()
    assert catalog.current.number == 2_001


def test_publish_returns_its_own_publication() -> None:
    """This holds even if another thread publishes at the same time."""
    catalog = Catalog(["users_ui", "accounts_ui", "final_ui"])
    got: dict[int, list[tuple[int, int]]] = {1: [], 2: []}

    def flip(generation: int) -> None:
        shown = tables(generation)
        for _ in range(500):
            publication = catalog.publish(generation, shown)
            got[generation].append((publication.generation, publication.number))

    threads = [threading.Thread(target=flip, args=(generation,)) for generation in got]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(generation == mine for mine, seen in got.items() for generation, _ in seen)
    assert sorted(number for seen in got.values() for _, number in seen) == list(range(1, 1_001))


def test_listeners_are_called_until_they_are_removed() -> None:
    catalog, numbers = Catalog(["users_ui", "accounts_ui", "final_ui"]), list[int]()
    remove = catalog.listen(lambda: numbers.append(catalog.current.number))
    catalog.publish(1, tables(1))
    remove()
    catalog.publish(2, tables(2))
    assert numbers == [1]


def test_half_a_generation_is_not_published() -> None:
    catalog = Catalog(["users_ui", "accounts_ui", "final_ui"])
    with pytest.raises(ValueError, match="tables for"):
        catalog.publish(1, {"users_ui": BoundedTable(COLUMNS, 1)})
    with pytest.raises(ValueError, match="one name for two tables: users_ui"):
        Catalog(["users_ui"], {"users_ui": BoundedTable(COLUMNS, 1)})
