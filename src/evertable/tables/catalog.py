"""The catalog: the table that each public name shows; all names flip to another generation at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from evertable.tables.table import Table


@dataclass(frozen=True)
class Publication:
    """The tables of all names at one moment; they never mix generations."""

    number: int
    generation: int
    """The live generation; 0 before there is one."""
    tables: Mapping[str, Table] = field(default_factory=dict)
    """By public name; before the first generation is live, only the operators' tables."""


class Notifier:
    """Notifies listeners that a table or a name has changed."""

    def __init__(self) -> None:
        self.listeners: list[Callable[[], None]] = []

    def notify(self) -> None:
        """Calls all listeners because a table or a name has changed; any thread may call it."""
        for listener in tuple(self.listeners):
            listener()

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Calls ``listener`` after every change, on the thread that made it; returns a function that stops this."""
        self.listeners.append(listener)
        return lambda: self.listeners.remove(listener)


class Catalog:
    """Maps public names to tables: ``names`` flip with each publication, ``fixed`` ones never do."""

    def __init__(
        self,
        names: Iterable[str],
        fixed: Mapping[str, Table] | None = None,
        *,
        changes: Notifier | None = None,
    ) -> None:
        self._flipping = tuple(names)
        self._fixed = dict(fixed or {})
        if twice := set(self._flipping) & set(self._fixed):
            raise ValueError(f"one name for two tables: {', '.join(sorted(twice))}")
        self._lock = threading.Lock()
        self.changes = changes or Notifier()
        self.notify, self.listen = self.changes.notify, self.changes.listen
        self._current = Publication(0, 0, MappingProxyType(self._fixed))

    @property
    def names(self) -> tuple[str, ...]:
        """Every public name, including those that have no table yet."""
        return (*self._flipping, *self._fixed)

    @property
    def current(self) -> Publication:
        return self._current

    @property
    def ready(self) -> bool:
        """Whether every name has a table."""
        return len(self._current.tables) == len(self.names)

    def count_from(self, number: int) -> None:
        """Sets the last publication before a restart, so that numbers never decrease."""
        with self._lock:
            current = self._current
            self._current = Publication(max(number, current.number), current.generation, current.tables)

    def publish(self, generation: int, tables: Mapping[str, Table]) -> Publication:
        """Flips all names to these tables; ValueError unless there is one for each name."""
        if set(tables) != set(self._flipping):
            raise ValueError(f"tables for {sorted(tables)}, but the names are {sorted(self._flipping)}")
        with self._lock:
            shown = MappingProxyType({**tables, **self._fixed})
            published = self._current = Publication(self._current.number + 1, generation, shown)
        self.notify()
        return published
