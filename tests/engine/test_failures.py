"""Errors of queries are told by condition; only those that can never heal are final."""

from __future__ import annotations

import pytest

from evertable.engine.failures import classify
from evertable.engine.retry import growing


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("…\nCaused by: org.apache.kafka.common.errors.UnknownTopicOrPartitionException: gone", "TOPIC_NOT_FOUND"),
        (
            "org.apache.kafka.common.errors.TopicAuthorizationException: Not authorized to access topics",
            "NOT_AUTHORIZED",
        ),
        ("Caused by: …SaslAuthenticationException: Authentication failed", "NOT_AUTHENTICATED"),
        ("Some data may have been lost … set the source option 'failOnDataLoss' to 'false'", "DATA_LOST"),
        ("org.apache.kafka.common.errors.RecordTooLargeException: 3000000 bytes", "RECORD_TOO_LARGE"),
    ],
)
def test_what_cannot_heal_is_final(text: str, condition: str) -> None:
    failure = classify(text)
    assert (failure.condition, failure.retriable) == (condition, False)


@pytest.mark.parametrize("text", ["", "java.net.ConnectException", "org.apache.kafka.common.errors.TimeoutException"])
def test_anything_else_is_tried_again(text: str) -> None:
    assert classify(text).retriable
    assert classify(text).condition == "QUERY_FAILED"


def test_the_message_is_the_first_line_and_the_cause_without_a_stack_trace() -> None:
    text = (
        "Query failed\n\tat a.b.c\nCaused by: Outer\n\tat d.e.f\nCaused by: java.io.IOException: No space left\n\tat g"
    )
    assert classify(text).message == "Query failed (Caused by: java.io.IOException: No space left)"


def test_delays_grow_to_a_limit_and_never_end() -> None:
    delays = growing(first_s=1, factor=2, most_s=8)
    first = [next(delays) for _ in range(50)]
    assert all(0.8 * least <= delay <= 1.2 * least for delay, least in zip(first, [1, 2, 4, *[8] * 47], strict=True))
