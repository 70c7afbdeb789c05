"""The catalog: which table of which generation each public name shows, flipped for all names at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from evertable.tables.table import Table


@dataclass(frozen=True)
class Publication:
    """All names at one moment. Who holds one sees either all old or all new tables."""

    number: int
    generation: int
    """The live generation; 0 before the first one."""
    tables: Mapping[str, Table] = field(default_factory=dict)
    """By public name; names of a generation's tables are missing before the first one is live."""


class Bell:
    """Notifies listeners that a table or a name has changed."""

    def __init__(self) -> None:
        self.listeners: list[Callable[[], None]] = []

    def ring(self) -> None:
        """Calls every listener; any thread may call it."""
        for listener in tuple(self.listeners):
            listener()

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Calls ``listener`` at every change, on the thread that made it; returns how to end that."""
        self.listeners.append(listener)
        return lambda: self.listeners.remove(listener)


class Catalog:
    """Public names → tables. ``names`` flip with each publication, the tables of ``fixed`` never do.

    ``number`` is the last publication that there was, so that numbers go on growing over a restart.
    """

    def __init__(
        self,
        names: Iterable[str],
        fixed: Mapping[str, Table] | None = None,
        number: int = 0,
        *,
        bell: Bell | None = None,
    ) -> None:
        self._flipping = tuple(names)
        self._fixed = dict(fixed or {})
        if twice := set(self._flipping) & set(self._fixed):
            raise ValueError(f"one name for two tables: {', '.join(sorted(twice))}")
        self._lock = threading.Lock()
        self.bell = bell or Bell()
        self.ring, self.listen = self.bell.ring, self.bell.listen
        self._current = Publication(number, 0, MappingProxyType(self._fixed))

    @property
    def names(self) -> tuple[str, ...]:
        """Every public name, those without a table yet included."""
        return (*self._flipping, *self._fixed)

    @property
    def current(self) -> Publication:
        return self._current

    @property
    def ready(self) -> bool:
        """Whether every name has a table."""
        return len(self._current.tables) == len(self.names)

    def count_from(self, number: int) -> None:
        """The last publication that there was, where that is known only after the start."""
        with self._lock:
            current = self._current
            self._current = Publication(max(number, current.number), current.generation, current.tables)

    def publish(self, generation: int, tables: Mapping[str, Table]) -> Publication:
        """Shows these tables under their names from now on; there must be one for each name that flips."""
        if set(tables) != set(self._flipping):
            raise ValueError(f"tables for {sorted(tables)}, but the names are {sorted(self._flipping)}")
        with self._lock:
            shown = MappingProxyType({**tables, **self._fixed})
            published = self._current = Publication(self._current.number + 1, generation, shown)
        self.ring()
        return published
