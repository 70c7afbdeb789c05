"""A ``kafka`` section: client properties, given once and translated for Spark (Java) and for librdkafka."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from evertable.kafka import property_names
from evertable.kafka.dialects import Dialects
from evertable.problems import Problem, invalid, nearest
from evertable.properties import Properties
from evertable.secrets import SecretText

OFFSET_RESETS = {
    "earliest": "earliest",
    "smallest": "earliest",
    "beginning": "earliest",
    "latest": "latest",
    "largest": "latest",
    "end": "latest",
}

_ADDRESS = re.compile(r"(?:[A-Z_]+://)?(?:\[[0-9a-fA-F:.%]+\]|[0-9A-Za-z._%-]+):(\d{1,5})")


@dataclass(frozen=True, repr=False)
class KafkaProperties(Properties):
    """Client properties in Java's names, without those that are not passed on."""

    offset_reset: str | None = None  # the start that auto.offset.reset stands for
    not_used: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def of(cls, texts: Mapping[str, str]) -> Self:
        named, problems = _in_javas_names(texts)
        reset = named.pop("auto.offset.reset", None)
        if reset is not None and reset.strip().lower() not in OFFSET_RESETS:
            problems.append(
                Problem(("auto.offset.reset",), "must be earliest or latest; a source's start may also be a time")
            )
        if "bootstrap.servers" in named:
            named["bootstrap.servers"], wrong = _addresses(named["bootstrap.servers"])
            problems += wrong
        if problems:
            raise invalid(problems)
        kept = {name: text for name, text in named.items() if name not in property_names.NOT_USED}
        return cls(
            Properties.of(kept).values,
            None if reset is None else OFFSET_RESETS[reset.strip().lower()],
            tuple(name for name in named if name in property_names.NOT_USED),
        )

    def merged_over(self, base: KafkaProperties) -> KafkaProperties:
        """Returns these properties over those of ``base``.

        Another ``bootstrap.servers`` is another cluster: it does not get the credentials for the first one.
        """
        inherited = dict(base.values)
        if self.is_another_cluster_than(base):
            inherited = {name: value for name, value in inherited.items() if not property_names.is_security(name)}
        return KafkaProperties({**inherited, **self.values}, self.offset_reset or base.offset_reset)

    def is_another_cluster_than(self, base: KafkaProperties) -> bool:
        own = self.values.get("bootstrap.servers")
        return own is not None and own != base.values.get("bootstrap.servers")

    def for_java(self) -> dict[str, str]:
        """Returns Spark's ``kafka.`` options, without that prefix. They contain secrets: never log them."""
        return self.dialects().java

    def for_librdkafka(self) -> dict[str, str]:
        """Returns the properties for confluent_kafka's clients. They contain secrets: never log them."""
        return self.dialects().librdkafka

    def dialects(self) -> Dialects:
        """Translates these properties for both clients, and checks whether both can use them."""
        return Dialects(self.reveal())

    def warnings(self) -> list[Problem]:
        """Returns what was given here and has no effect, or is unknown."""
        found = [Problem((name,), f"is not used: {property_names.NOT_USED[name]}") for name in self.not_used]
        for name in self.values:
            if not property_names.is_known(name):
                hint = nearest(name, property_names.KNOWN)
                hint = f"; {hint}" if hint.startswith("did you") else ""
                found.append(Problem((name,), f"is not a known client property and is passed to Spark only{hint}"))
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (dict(self.values), self.offset_reset, self.not_used)


def _in_javas_names(texts: Mapping[str, str]) -> tuple[dict[str, str], list[Problem]]:
    named: dict[str, str] = {}
    problems = []
    for name, text in texts.items():
        java = property_names.SPELLINGS.get(name, name)
        if java in named or (java != name and java in texts):
            problems.append(Problem((name,), f"is given twice: it is another spelling of {java}"))
        named[java] = text
    return named, problems


def _addresses(text: str) -> tuple[str, list[Problem]]:
    """Returns the addresses without blanks between them, and a problem for each that is not ``host:port``."""
    addresses = [part.strip() for part in text.split(",") if part.strip()]
    where = ("bootstrap.servers",)
    wrong = [Problem(where, f"'{part}' is not host:port") for part in addresses if not _is_address(part)]
    if not addresses:
        wrong = [Problem(where, "is empty")]
    if isinstance(text, SecretText) or "@" in text:  # some write user:password@host, as for a database
        hidden = [Problem(where, "must be host:port, or several with commas between")] if wrong else []
        return SecretText(",".join(addresses)), hidden
    return ",".join(addresses), wrong


def _is_address(address: str) -> bool:
    match = _ADDRESS.fullmatch(address)
    return match is not None and 0 < int(match[1]) < 65536
