"""Errors of queries are classified; only those that a retry cannot fix are final."""

from __future__ import annotations

import pytest

from evertable.engine.failures import classify

JOB = "Job aborted due to stage failure: Task 5 in stage 6.0 failed 1 times, most recent failure: Lost task 5.0: "


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("…\nCaused by: org.apache.kafka.common.errors.UnknownTopicOrPartitionException: gone", "TOPIC_NOT_FOUND"),
        (JOB + "org.apache.kafka.clients.consumer.OffsetOutOfRangeException: Fetch position", "DATA_LOST"),
        (JOB + "org.apache.kafka.clients.consumer.LogTruncationException: Detected log truncation", "DATA_LOST"),
        (JOB + "dev.evertable.ChangelogLostException: the changelog c was deleted or cut", "CHANGELOG_LOST"),
        ("org.apache.kafka.common.errors.RecordTooLargeException: 3000000 bytes", "RECORD_TOO_LARGE"),
    ],
)
def test_failures_that_a_retry_cannot_fix_are_final(text: str, condition: str) -> None:
    failure = classify(text)
    assert (failure.condition, failure.retriable) == (condition, False)


@pytest.mark.parametrize("text", ["", "java.net.ConnectException", "org.apache.kafka.common.errors.TimeoutException"])
def test_other_failures_are_retried(text: str) -> None:
    assert classify(text).retriable
    assert classify(text).condition == "QUERY_FAILED"


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("org.apache.kafka.common.errors.TopicAuthorizationException: Not authorized to", "NOT_AUTHORIZED"),
        ("Caused by: org.apache.kafka.common.errors.SaslAuthenticationException: no", "NOT_AUTHENTICATED"),
    ],
)
def test_missing_rights_and_failed_logins_are_retried(text: str, condition: str) -> None:
    failure = classify(text)
    assert (failure.condition, failure.retriable) == (condition, True)


def test_too_few_slots_have_a_condition_and_are_retried() -> None:
    failure = classify("[CONCURRENT_SCHEDULER_INSUFFICIENT_SLOT] The minimum number of free slots required is 9")
    assert (failure.condition, failure.retriable) == ("NOT_ENOUGH_SLOTS", True)


def test_the_names_of_topics_are_ignored() -> None:
    topic = "KAFKA_DATA_LOSS-RecordTooLargeException"
    assert classify(f"TimeoutException: {topic} is slow", [topic]).condition == "QUERY_FAILED"
    assert classify(f"Hiccup\n=== Streaming Query ===\n{topic}").condition == "QUERY_FAILED"


def test_the_message_has_the_cause_first_and_no_stack_trace() -> None:
    text = "Query failed\n\tat a.b\nCaused by: Outer\n\tat d.e\nCaused by: java.io.IOException: No space left\n\tat g"
    assert classify(text).message == "java.io.IOException: No space left (Query failed)"
    offset = "org.apache.kafka.clients.consumer.OffsetOutOfRangeException: Fetch position 134"
    assert classify(JOB + offset).message == offset
