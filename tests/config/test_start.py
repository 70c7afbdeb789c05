"""Where reading begins."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evertable.config.start import Start


def test_words() -> None:
    """earliest and latest, in any case."""
    assert (Start.parse("Earliest"), Start.parse(" latest ")) == (Start.EARLIEST, Start.LATEST)
    assert (Start.LATEST.timestamp_ms, str(Start.LATEST)) == (None, "latest")


def test_a_time_is_kept_in_utc() -> None:
    """The zone counts, and milliseconds are rounded up: the start is never before the time."""
    start = Start.parse("2026-01-31T10:00:00.000001+01:00")
    assert datetime(2026, 1, 31, 9, 0, 0, 1, UTC) == start.at
    assert start.timestamp_ms == 1769850000001
    assert str(start) == "2026-01-31T09:00:00.000001Z"
    assert Start.parse("2026-01-31T09:00:00Z").timestamp_ms == 1769850000000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("2026-01-31T09:00:00", "has no time zone"),
        ("2026-01-31", "has no time zone"),
        ("yesterday", "is not a start; known are earliest, latest or a time"),
        ("", "is not a start"),
        ("1969-12-31T23:59:59Z", "before 1970"),
        ("0001-01-01T00:00:00+23:00", "out of range"),
        ("1769850000000", "is not a start"),
    ],
)
def test_anything_else_is_refused(text: str, message: str) -> None:
    """The message names what is allowed."""
    with pytest.raises(ValueError, match=r"start|zone|1970|range") as refused:
        Start.parse(text)
    assert message in str(refused.value)


zones = st.integers(-23 * 60, 23 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))


@given(st.datetimes(datetime(1971, 1, 1), datetime(9998, 1, 1), timezones=zones))
def test_a_start_survives_writing_and_parsing(at: datetime) -> None:
    """Its text means the same time, and the milliseconds are the first ones not before it."""
    start = Start.parse(at.isoformat())
    assert start == Start.parse(str(start))
    assert start.timestamp_ms is not None
    first = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=start.timestamp_ms)
    assert timedelta(0) <= first - at < timedelta(milliseconds=1)
