"""A ``kafka`` section: client properties, given once and translated for Spark (Java) and for librdkafka."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

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
    """Client properties in Java's names."""

    @classmethod
    def of(cls, texts: Mapping[str, str]) -> Self:
        named: dict[str, str] = {}
        problems = []
        for name, text in texts.items():
            java = property_names.SPELLINGS.get(name, name)
            if java in named or (java != name and java in texts):
                problems.append(Problem((name,), f"is given twice: it is another spelling of {java}"))
            named[java] = text
        if named.get("auto.offset.reset", "latest").strip().lower() not in OFFSET_RESETS:
            what = "must be earliest or latest; a source's start may also be a time"
            problems.append(Problem(("auto.offset.reset",), what))
        if "bootstrap.servers" in named:
            named["bootstrap.servers"], wrong = _addresses(named["bootstrap.servers"])
            problems += wrong
        if problems:
            raise invalid(problems)
        return super().of(named)

    def masked(self) -> dict[str, str]:
        """Returns what is passed to the clients, with secrets masked."""
        return {name: text for name, text in super().masked().items() if name not in property_names.NOT_PASSED}

    def merged_over(self, base: KafkaProperties) -> KafkaProperties:
        """Returns these properties over those of ``base``.

        Another ``bootstrap.servers`` is another cluster: it does not get the credentials for the first one.
        """
        inherited = dict(base.values)
        if self.is_another_cluster_than(base):
            inherited = {name: value for name, value in inherited.items() if not property_names.is_security(name)}
        return KafkaProperties({**inherited, **self.values})

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
        found = []
        for name in self.values:
            if name in property_names.NOT_USED:
                found.append(Problem((name,), f"is not used: {property_names.NOT_USED[name]}"))
            elif not property_names.is_known(name):
                hint = nearest(name, property_names.KNOWN)
                hint = f"; {hint}" if hint.startswith("did you") else ""
                found.append(Problem((name,), f"is not a known client property and is passed to Spark only{hint}"))
        return found


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
