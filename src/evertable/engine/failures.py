"""Classification of a failed query's error: a stable condition, and whether a retry may help."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

PLAN = "=== Streaming Query ==="
"""What follows this in an error's text is the query itself, whose names must not be matched."""


@dataclass(frozen=True)
class Failure:
    condition: str
    message: str
    retriable: bool


# Matched against the error's text in this order. An error that matches nothing may be temporary.
_FINAL = {
    "TOPIC_NOT_FOUND": r"\b(UnknownTopicOrPartition|UnknownTopicId|InvalidTopic)Exception\b",
    "DATA_LOST": r"\bOffsetOutOfRangeException\b|\bLogTruncationException\b|\bNoOffsetForPartitionException\b",
    "CHECKPOINT_UNUSABLE": r"\[(STATE_STORE_\w*SCHEMA\w*|INVALID_CHECKPOINT\w*|CANNOT_LOAD_STATE_STORE[\w.]*)\]",
    "CHANGELOG_LOST": r"\bChangelogLostException\b",
    "RECORD_TOO_LARGE": r"\bRecordTooLargeException\b",
}
_TEMPORARY = {
    "NOT_AUTHORIZED": r"\b\w*AuthorizationException\b",  # both are fixed at Kafka, and the checkpoint stays valid
    "NOT_AUTHENTICATED": r"\b\w*(Authentication|Login)Exception\b",
    "NOT_ENOUGH_SLOTS": r"\bCONCURRENT_SCHEDULER_INSUFFICIENT_SLOT\b",
}


def classify(text: str, names: Iterable[str] = ()) -> Failure:
    """Classifies an error by its text; ``names`` of topics are removed first, so that they match nothing."""
    searched = text.partition(PLAN)[0]
    for name in sorted(names, key=len, reverse=True):
        searched = searched.replace(name, "…")
    for known, retriable in ((_FINAL, False), (_TEMPORARY, True)):
        for condition, pattern in known.items():
            if re.search(pattern, searched):
                return Failure(condition, _summary(text, pattern), retriable)
    return Failure("QUERY_FAILED", _summary(text, "Caused by:"), retriable=True)


def _summary(text: str, pattern: str) -> str:
    """Returns the line that matches ``pattern``, from the match on, then the error's first line; no stack trace."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("at ")]
    first = lines[0] if lines else "no message"
    for line in reversed(lines):
        if found := re.search(rf"[\w.]*(?:{pattern}).*", line):
            cause = found[0].removeprefix("Caused by: ")
            return cause[:500] if line == first else f"{cause[:500]} ({first[:300]})"
    return first[:500]
