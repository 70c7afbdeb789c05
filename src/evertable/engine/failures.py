"""What a failed query's error means: a stable condition, and whether starting it again may help."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

PLAN = "=== Streaming Query ==="
"""From here on an error's text is the query, with names that mean nothing."""


@dataclass(frozen=True)
class Failure:
    condition: str
    message: str
    retriable: bool


# Told by the class or Spark's own condition in the error's text; the first found counts. What is not here may pass.
_FINAL = {
    "TOPIC_NOT_FOUND": r"\b(UnknownTopicOrPartition|UnknownTopicId|InvalidTopic)Exception\b",
    "PARTITIONS_CHANGED": r"you must specify all TopicPartitions",  # between the build and the start
    "DATA_LOST": r"\bOffsetOutOfRangeException\b|\bKAFKA_DATA_LOSS\b|`failOnDataLoss`|\"failOnDataLoss\"",
    "CHECKPOINT_UNUSABLE": r"\[(STATE_STORE_\w*SCHEMA\w*|INVALID_CHECKPOINT\w*|CANNOT_LOAD_STATE_STORE[\w.]*)\]",
    "RECORD_TOO_LARGE": r"\bRecordTooLargeException\b",
    "TIMESTAMP_OUT_OF_RANGE": r"overflows when converting to Spark's microsecond-precision",
}
_PASSING = {
    "NOT_AUTHORIZED": r"\b\w*AuthorizationException\b",  # both are mended at Kafka, and the checkpoint is still good
    "NOT_AUTHENTICATED": r"\b\w*(Authentication|Login)Exception\b",
    "NOT_ENOUGH_SLOTS": r"\bCONCURRENT_SCHEDULER_INSUFFICIENT_SLOT\b",
}


def classify(text: str, names: Iterable[str] = ()) -> Failure:
    """The failure that an error's text tells of; ``names`` (of topics) may stand in it and mean nothing."""
    told = text.partition(PLAN)[0]
    for name in sorted(names, key=len, reverse=True):
        told = told.replace(name, "…")
    for known, retriable in ((_FINAL, False), (_PASSING, True)):
        for condition, pattern in known.items():
            if re.search(pattern, told):
                return Failure(condition, _summary(text, pattern), retriable)
    return Failure("QUERY_FAILED", _summary(text, "Caused by:"), retriable=True)


def _summary(text: str, telling: str) -> str:
    """The line that tells the cause, from where it does, then the error's first line; never a stack trace."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("at ")]
    first = lines[0] if lines else "no message"
    for line in reversed(lines):
        if found := re.search(rf"[\w.]*(?:{telling}).*", line):
            cause = found[0].removeprefix("Caused by: ")
            return cause[:500] if line == first else f"{cause[:500]} ({first[:300]})"
    return first[:500]
