"""Reviews whether what a generation has read looks as its configuration expects; without any I/O."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from evertable.schema.joins import JoinType
from evertable.schema.wiring import Wiring
from evertable.tables.generation import GenerationTables

ENOUGH = 100
"""So many records of a source are needed to judge it before its backlog is read; then one is enough."""
MUCH_FEWER = 10
"""A table that has so many times fewer rows than the one before is worth a warning."""


@dataclass(frozen=True)
class SourceFigures:
    """What was read of one source's topic."""

    name: str
    topic: str
    key: str
    rows: int
    rejected: int
    nulls: Mapping[str, int]
    """Rows without a value, by column."""
    rejected_by_column: Mapping[str, int]
    latest_rejection: str = ""

    @property
    def records(self) -> int:
        return self.rows + self.rejected

    @property
    def empty_columns(self) -> list[str]:
        """Columns besides the key that have no value in any row."""
        return [name for name, nulls in self.nulls.items() if name != self.key and nulls == self.rows]


@dataclass(frozen=True)
class Figures:
    """What was read of all topics of a generation, and what the join made of it."""

    sources: tuple[SourceFigures, ...]
    join: JoinType
    joined_rows: int
    has_matches: bool

    @classmethod
    def of(cls, tables: GenerationTables) -> Figures:
        with tables.lock:
            sources = tuple(_source_figures(tables, place) for place in range(len(tables.inputs)))
            return cls(sources, tables.join, tables.joined.extent.total, tables.has_matches)


class FindingKind(StrEnum):
    """What looks wrong; the first three hold a swap back."""

    ALL_REJECTED = "all_rejected"
    NO_KEYS = "no_keys"
    NO_VALUES = "no_values"
    EMPTY_COLUMNS = "empty_columns"
    FEWER_ROWS = "fewer_rows"
    NO_MATCHES = "no_matches"


@dataclass(frozen=True)
class Finding:
    """One thing that looks wrong, about one topic or, without a topic, about the joined table."""

    kind: FindingKind
    topic: str
    sentence: str


def compare(now: Figures, before: Figures) -> list[Finding]:
    """Returns signs that a swap took the wrong topic, although its tables can be shown."""
    found: list[Finding] = []
    for source, earlier in zip(now.sources, before.sources, strict=True):
        if source.rows and source.topic != earlier.topic:
            found += _odd(source, earlier)
    if not now.has_matches and all(source.rows > source.nulls[source.key] for source in now.sources):
        left, right = (f"'{source.topic}'" for source in now.sources)
        found.append(Finding(FindingKind.NO_MATCHES, "", f"No row of {left} matches any row of {right}."))
    elif now.join is before.join and now.joined_rows and _is_much_fewer(now.joined_rows, before.joined_rows):
        sentence = f"The joined table has {_rows(now.joined_rows)}; before the swap it had {before.joined_rows:,}."
        found.append(Finding(FindingKind.FEWER_ROWS, "", sentence))
    return found


@dataclass(frozen=True)
class Review:
    """What looks wrong in a generation's tables, also compared with those that it replaces in a swap."""

    now: Figures
    before: Figures | None
    broken: tuple[Finding, ...]
    """About topics of which nothing useful was read: they hold a swap back, unless that is overridden."""
    odd: tuple[Finding, ...]
    """Signs that a swap took the wrong topic."""

    @classmethod
    def of(cls, now: Figures, before: Figures | None, kept: Wiring | None = None, *, least: int = 1) -> Review:
        """Reviews the topics that have ``least`` records or more, but for those that ``kept`` has, too.

        If a swap is held, ``kept`` stays live; a topic that both have is no reason to hold it.
        """
        shown = (kept.left_topic, kept.right_topic) if kept else (None, None)
        judged = [source for source, topic in zip(now.sources, shown, strict=True) if source.topic != topic]
        broken = tuple(finding for source in judged for finding in _broken(source, least))
        odd = () if before is None else compare(now, before)
        reported = {finding.topic for finding in broken}
        return cls(now, before, broken, tuple(finding for finding in odd if finding.topic not in reported))

    @property
    def findings(self) -> tuple[Finding, ...]:
        return self.broken + self.odd

    @property
    def remark(self) -> str:
        """All that looks wrong; empty if nothing does."""
        return " ".join(finding.sentence for finding in self.findings)

    @property
    def hold_reason(self) -> str:
        reasons = " ".join(finding.sentence for finding in self.broken)
        return f'{reasons} To go live with it all the same, send the message again with "force": true.'

    def as_json(self) -> dict[str, Any]:
        """Returns the review as ``/api/status`` has it."""
        before = [None] * len(self.now.sources) if self.before is None else self.before.sources
        return {
            "reasons": [finding.sentence for finding in self.broken],
            "warnings": [finding.sentence for finding in self.odd],
            "sources": [_source_json(now, was) for now, was in zip(self.now.sources, before, strict=True)],
            "joined": {
                "rows": self.now.joined_rows,
                "rows_before": None if self.before is None else self.before.joined_rows,
            },
        }


def _source_figures(tables: GenerationTables, place: int) -> SourceFigures:
    source, rows = tables.inputs[place], tables.sources[place].snapshot()
    rejected = tables.rejects_by_source[source.name]
    latest = ""
    if rejected and not rows.extent.total:
        letters = (row for row in reversed(tables.dead_letters.rows()) if row[0] == source.name)
        latest = next((str(row[5]).rstrip(".") for row in letters), "")
    return SourceFigures(
        source.name,
        source.topic,
        source.key,
        rows.extent.total,
        rejected,
        {column.name: rows.column(at).null_count for at, column in enumerate(source.columns)},
        dict(tables.rejects_by_column[place]),
        latest,
    )


def _broken(source: SourceFigures, least: int) -> Iterator[Finding]:
    of = f"of '{source.topic}' ({source.name})"
    if not source.rows:
        if source.rejected >= least:
            many, were = (f"All {source.rejected:,} records", "were") if source.rejected > 1 else _ONLY_RECORD
            latest = ", the latest" if source.rejected > 1 else ""
            because = f"{latest} because: {source.latest_rejection}" if source.latest_rejection else ""
            advice = f"Compare sources.{source.name}.columns with what is sent."
            yield Finding(FindingKind.ALL_REJECTED, source.topic, f"{many} {of} {were} rejected{because}. {advice}")
        return
    if source.rows < least:
        return
    several = source.rows > 1
    many = f"None of the {source.rows:,} rows {of} has a value" if several else f"The only row so far {of} has no value"
    if source.nulls[source.key] == source.rows:
        advice = f"so nothing can match. Check that sources.{source.name}.key is spelled as in the records."
        yield Finding(FindingKind.NO_KEYS, source.topic, f"{many} for the key '{source.key}', {advice}")
    if len(source.nulls) > 1 and len(source.empty_columns) == len(source.nulls) - 1:
        advice = f"Compare sources.{source.name}.columns with what is sent."
        yield Finding(
            FindingKind.NO_VALUES, source.topic, f"{many} in any column besides the key '{source.key}'. {advice}"
        )


_ONLY_RECORD = ("The only record so far", "was")


def _odd(source: SourceFigures, before: SourceFigures) -> Iterator[Finding]:
    of = f"'{source.topic}' ({source.name})"
    if empty := source.empty_columns:
        columns = ", ".join(f"'{name}'" for name in empty)
        sentence = f"No row of {of} has a value for {columns}; rows read: {source.rows:,}."
        yield Finding(FindingKind.EMPTY_COLUMNS, source.topic, sentence)
    if _is_much_fewer(source.rows, before.rows):
        sentence = f"{of} has {_rows(source.rows)}; '{before.topic}' had {before.rows:,}."
        yield Finding(FindingKind.FEWER_ROWS, source.topic, sentence)


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count:,} rows"


def _is_much_fewer(now: int, before: int) -> bool:
    return now * MUCH_FEWER <= before


def _source_json(now: SourceFigures, before: SourceFigures | None) -> dict[str, Any]:
    return {
        "source": now.name,
        "key": now.key,
        "topic": now.topic,
        "topic_before": None if before is None else before.topic,
        "rows": now.rows,
        "rows_before": None if before is None else before.rows,
        "rejected": now.rejected,
        "rejected_before": None if before is None else before.rejected,
        "columns": [
            {"name": name, "nulls": nulls, "rejected": now.rejected_by_column.get(name, 0)}
            for name, nulls in now.nulls.items()
        ],
    }
