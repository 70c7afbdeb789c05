"""All log lines have one format, which the configuration sets."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator

import pytest
import structlog

from evertable.cli.logs import configure_logging
from evertable.config.models import Logging


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    """Restores the logging of the process."""
    root, ours = logging.getLogger(), logging.getLogger("evertable")
    before = root.handlers[:], root.level, ours.level
    yield
    root.handlers[:], level, own = before
    root.setLevel(level)
    ours.setLevel(own)
    structlog.reset_defaults()


def log_lines() -> None:
    structlog.get_logger("evertable.a").info("published", generation=3)
    logging.getLogger("evertable.b").debug("a detail")
    logging.getLogger("evertable.b").warning("Kafka at %s is unreachable", "k:1")
    logging.getLogger("uvicorn").info("detail of a library")
    try:
        raise ValueError("odd")
    except ValueError:
        structlog.get_logger("evertable.a").exception("failed")


def test_for_people(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(Logging.model_validate({}))
    log_lines()
    lines = capsys.readouterr().out.splitlines()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d \[info     \] published +generation=3", lines[0])
    assert lines[1].endswith("[warning  ] Kafka at k:1 is unreachable")
    assert lines[2].endswith("[error    ] failed")
    assert lines[-1] == "ValueError: odd"
    assert "detail of a library" not in str(lines)


def test_for_machines(capsys: pytest.CaptureFixture[str]) -> None:
    """Each line is one object, even an error with its traceback."""
    configure_logging(Logging.model_validate({"format": "json", "level": "debug"}))
    log_lines()
    published, detail, unreachable, failed = map(json.loads, capsys.readouterr().out.splitlines())
    assert (published["event"], published["generation"], published["level"]) == ("published", 3, "info")
    assert published["timestamp"].endswith("Z")
    assert (detail["event"], detail["level"]) == ("a detail", "debug")
    assert unreachable["event"] == "Kafka at k:1 is unreachable"
    assert "ValueError: odd" in failed["exception"]


def test_level(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(Logging.model_validate({"level": "error"}))
    log_lines()
    assert [line for line in capsys.readouterr().out.splitlines() if "[" in line and "error" not in line] == []
