"""What makes a generation's tables look wrong though all of it runs: nothing comes through, or nothing can match."""

from __future__ import annotations

from collections.abc import Iterator

from evertable.changelog.schema import Side
from evertable.tables.generation import GenerationTables

ENOUGH = 100
"""Records of a source, until something is said of all of them; fewer, if the topic had no more."""


class Doubts:
    """One generation's; what was fine once is not doubted again."""

    def __init__(self, tables: GenerationTables) -> None:
        self._tables = tables
        self._fine: set[tuple[Side, str]] = set()
        self._told: set[tuple[Side, str]] = set()

    def now(self, *, caught_up: bool) -> list[str]:
        """A sentence for each thing that looks wrong now."""
        return [sentence for _, sentence in self._found(caught_up)]

    def news(self, *, caught_up: bool) -> list[str]:
        """Those that were not told before."""
        found = [(about, sentence) for about, sentence in self._found(caught_up) if about not in self._told]
        self._told.update(about for about, _ in found)
        return [sentence for _, sentence in found]

    def _found(self, caught_up: bool) -> Iterator[tuple[tuple[Side, str], str]]:
        for side in Side:
            for about, look in (("rejects", self._all_rejected), ("keys", self._none_has_a_key)):
                if (side, about) not in self._fine and (sentence := look(side, 1 if caught_up else ENOUGH)):
                    yield (side, about), sentence

    def _all_rejected(self, side: Side, least: int) -> str:
        tables, source = self._tables, self._tables.inputs[side]
        if tables.sources[side].extent.total:
            self._fine.add((side, "rejects"))
            return ""
        count = tables.rejects_by_source[source.name]
        if count < least:
            return ""
        latest = next((row for row in reversed(tables.dead_letters.rows()) if row[0] == source.name), None)
        many, were = (f"All {count:,} records", "were") if count > 1 else ("The only record so far", "was")
        because = f"{', the latest' if count > 1 else ''} because: {str(latest[5]).rstrip('.')}" if latest else ""
        return (
            f"{many} of '{source.topic}' ({source.name}) {were} rejected{because}. "
            f"See the table dead_letters, and compare sources.{source.name}.columns with what is sent."
        )

    def _none_has_a_key(self, side: Side, least: int) -> str:
        source, rows = self._tables.inputs[side], self._tables.sources[side].snapshot()
        count = rows.extent.total
        if count < least:
            return ""
        place = [column.name for column in source.columns].index(source.key)
        if rows.column(place).null_count < count:
            self._fine.add((side, "keys"))
            return ""
        many = f"None of the {count:,} rows" if count > 1 else "The only row so far"
        has = "has a value" if count > 1 else "has no value"
        return (
            f"{many} of '{source.topic}' ({source.name}) {has} for the key '{source.key}', so nothing can "
            f"match. Check that sources.{source.name}.key is spelled as in the records."
        )
