"""What a failed query's error means: a stable condition, and whether starting it again may help."""

from __future__ import annotations

import re
from dataclasses import dataclass

# The first that is found in the error's text counts. Only what can never heal by itself is final.
_FINAL = (
    (re.compile(r"UnknownTopicOrPartition|UNKNOWN_TOPIC|topic.*does not exist", re.I), "TOPIC_NOT_FOUND"),
    (re.compile(r"AuthorizationException|not authorized", re.I), "NOT_AUTHORIZED"),
    (re.compile(r"AuthenticationException", re.I), "NOT_AUTHENTICATED"),
    (re.compile(r"failOnDataLoss|data may have been missed|OffsetOutOfRange|PARTITIONS?_DELETED|data_loss", re.I), "DATA_LOST"),
    (re.compile(r"STATE_STORE_.*SCHEMA|INVALID_CHECKPOINT|checkpoint.*(corrupt|missing|not found)", re.I), "CHECKPOINT_UNUSABLE"),
    (re.compile(r"RecordTooLarge", re.I), "RECORD_TOO_LARGE"),
)


@dataclass(frozen=True)
class Failure:
    condition: str
    message: str
    retriable: bool


def classify(text: str) -> Failure:
    """The failure that an error's text tells of; unknown ones are retried."""
    for pattern, condition in _FINAL:
        if pattern.search(text):
            return Failure(condition, _summary(text, pattern), retriable=False)
    return Failure("QUERY_FAILED", _summary(text, re.compile(r"Caused by:")), retriable=True)


def _summary(text: str, telling: re.Pattern[str]) -> str:
    """The error's first line and, if it is another, the last line that tells the cause; never a stack trace."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("at ")]
    first = lines[0] if lines else "no message"
    cause = next((line for line in reversed(lines) if telling.search(line)), first)
    return first[:500] if cause == first else f"{first[:500]} ({cause[:500]})"
