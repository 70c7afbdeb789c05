"""What a failed query's error means: a stable condition, and whether starting it again may help."""

from __future__ import annotations

import re
from dataclasses import dataclass

# The first that is found in the error's text counts. Only what can never heal by itself is final.
_FINAL = {
    "TOPIC_NOT_FOUND": r"UnknownTopicOrPartition|UNKNOWN_TOPIC|topic.*does not exist",
    "NOT_AUTHORIZED": r"AuthorizationException|not authorized",
    "NOT_AUTHENTICATED": r"AuthenticationException",
    "DATA_LOST": r"failOnDataLoss|data may have been missed|OffsetOutOfRange|PARTITIONS?_DELETED|data_loss",
    "CHECKPOINT_UNUSABLE": r"STATE_STORE_.*SCHEMA|INVALID_CHECKPOINT|checkpoint.*(corrupt|missing|not found)",
    "RECORD_TOO_LARGE": r"RecordTooLarge",
}


@dataclass(frozen=True)
class Failure:
    condition: str
    message: str
    retriable: bool


def classify(text: str) -> Failure:
    """The failure that an error's text tells of; unknown ones are retried."""
    for condition, pattern in _FINAL.items():
        if re.search(pattern, text, re.IGNORECASE):
            return Failure(condition, _summary(text, pattern), retriable=False)
    return Failure("QUERY_FAILED", _summary(text, "Caused by:"), retriable=True)


def _summary(text: str, telling: str) -> str:
    """The error's first line and, if it is another, the last line that tells the cause; never a stack trace."""
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("at ")]
    first = lines[0] if lines else "no message"
    cause = next((line for line in reversed(lines) if re.search(telling, line, re.IGNORECASE)), first)
    return first[:500] if cause == first else f"{first[:500]} ({cause[:500]})"
