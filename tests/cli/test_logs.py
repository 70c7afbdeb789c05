"""Lines of all parts in one shape, as the configuration says."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator

import pytest
import structlog

from evertable.cli.logs import write_logs
from evertable.config.models import Logging


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    """What a test changes of the process's logging is as before after it."""
    root, ours = logging.getLogger(), logging.getLogger("evertable")
    before = root.handlers[:], root.level, ours.level
    yield
    root.handlers[:], level, own = before
    root.setLevel(level)
    ours.setLevel(own)
    structlog.reset_defaults()


def speak() -> None:
    structlog.get_logger("evertable.a").info("published", generation=3)
    logging.getLogger("evertable.b").debug("a detail")
    logging.getLogger("evertable.b").warning("Kafka at %s is away", "k:1")
    logging.getLogger("uvicorn").info("a library's chatter")
    try:
        raise ValueError("odd")
    except ValueError:
        structlog.get_logger("evertable.a").exception("failed")


def test_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    write_logs(Logging.model_validate({}))
    speak()
    lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \[info     \] published +generation=3", lines[0])
    assert lines[1].endswith("[warning  ] Kafka at k:1 is away")
    assert lines[2].endswith("[error    ] failed")
    assert lines[-1] == "ValueError: odd"
    assert "chatter" not in str(lines)


def test_for_machines(capsys: pytest.CaptureFixture[str]) -> None:
    """One object a line, also of an error with its traceback."""
    write_logs(Logging.model_validate({"format": "json", "level": "debug"}))
    speak()
    published, detail, away, failed = map(json.loads, capsys.readouterr().out.splitlines())
    assert (published["event"], published["generation"], published["level"]) == ("published", 3, "info")
    assert published["timestamp"].endswith("Z")
    assert (detail["event"], detail["level"]) == ("a detail", "debug")
    assert away["event"] == "Kafka at k:1 is away"
    assert "ValueError: odd" in failed["exception"]


def test_from_a_level_on(capsys: pytest.CaptureFixture[str]) -> None:
    write_logs(Logging.model_validate({"level": "error"}))
    speak()
    assert [line for line in capsys.readouterr().out.splitlines() if "[" in line and "error" not in line] == []
