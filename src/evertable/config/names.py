"""Validates names of topics, sources and tables, and knows Evertable's own topics."""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_TOPIC = 249  # Kafka's own limit
MAX_GENERATION_DIGITS = 10  # room left for them in a changelog's name

APP, PREFIX = "demo", "evertable"  # the defaults
STATE = "state"  # <prefix>.<app>.state is the state topic
CONTROL = "control"  # <prefix>.<app>.control is the control topic, unless another one is configured

MAX_TABLE = 200
JOINED = "joined"  # what ``tables:`` calls the joined table
OPERATORS = ("orchestrator_status", "orchestrator_logs", "control_raw", "generations", "dead_letters")
EXPORTS = (".csv", ".arrow")  # endings of a table's URL that request a file

_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")
_SOURCE = re.compile(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*")


def topic(name: str) -> str:
    """Returns ``name`` if it is a valid topic name; else ValueError."""
    if len(name) > MAX_TOPIC:
        raise ValueError(f"a topic's name has at most {MAX_TOPIC} characters, not {len(name)}")
    return topic_part(name)


def topic_part(name: str) -> str:
    """Returns ``name`` if it can be part of a topic name; else ValueError."""
    if not name:
        raise ValueError("is empty")
    if name in (".", ".."):  # folders have the same name
        raise ValueError(f"'{name}' cannot name a topic")
    if not _LEGAL.fullmatch(name):
        raise ValueError(f"'{name}' is not allowed in a topic's name; letters, digits, '.', '_' and '-' are")
    return name


def source(name: str) -> str:
    """Returns ``name`` if it can name a source, and so columns, control keys and variables; else ValueError."""
    if not _SOURCE.fullmatch(name):
        raise ValueError(f"'{name}' cannot name a source; letters, digits and single '_' are fine, a letter first")
    return name


def table(name: str) -> str:
    """Returns ``name`` if it can name a public table, and so be part of a URL; else ValueError."""
    if not name.strip():
        raise ValueError("is empty")
    if len(name) > MAX_TABLE:
        raise ValueError(f"a table's name has at most {MAX_TABLE} characters, not {len(name)}")
    if not name.isprintable() or name != name.strip() or "/" in name or name.startswith("."):
        raise ValueError(f"'{name}' cannot name a table: no '/', no '.' first, no blanks at the ends, all printable")
    if name.lower().endswith(EXPORTS):
        raise ValueError(f"'{name}' would be taken for an export; a table's name does not end in .csv or .arrow")
    return name


@dataclass(frozen=True)
class OwnTopics:
    """The topics of one app that cannot be sources; ``control`` is empty if it has none."""

    prefix: str
    app: str
    control: str

    @property
    def default_control(self) -> str:
        """The control topic that no other app uses."""
        return f"{self.prefix}.{self.app}.{CONTROL}"

    def role(self, topic: str) -> str:
        """Returns what this topic is used for; empty if it is none of them."""
        if topic and topic == self.control:
            return "the control topic"
        if re.fullmatch(r"g[0-9]+", self._suffix(topic)):
            return "a changelog of Evertable's own"
        return {
            STATE: "the state topic of Evertable's own",
            CONTROL: "the default control topic of this app",
        }.get(self._suffix(topic), "")

    def _suffix(self, topic: str) -> str:
        beginning = f"{self.prefix}.{self.app}."
        return topic.removeprefix(beginning) if topic.startswith(beginning) else ""
