"""One ``kafka:`` section: any client property, given once, translated for Spark (Java) and for librdkafka."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, Self

from evertable.kafka import property_names
from evertable.kafka import security as security_rules
from evertable.problems import Problem, invalid, nearest
from evertable.properties import Properties, Value
from evertable.secrets import SecretText

OFFSET_RESETS = {
    "earliest": "earliest",
    "smallest": "earliest",
    "beginning": "earliest",
    "latest": "latest",
    "largest": "latest",
    "end": "latest",
}

_PROVIDERS = "config.providers"
_ADDRESS = re.compile(r"(?:[A-Z_]+://)?(?:\[[0-9a-fA-F:.%]+\]|[0-9A-Za-z._%-]+):(\d{1,5})")


class Role(Enum):
    """What a client is for; it is spared the properties that only the others understand."""

    CONSUMER = auto()
    PRODUCER = auto()
    ADMIN = auto()


@dataclass(frozen=True, repr=False)
class KafkaProperties(Properties):
    """What is in effect, in Java's names; ``offset_reset`` and ``not_used`` were given too and live elsewhere."""

    offset_reset: str | None = None  # the start that auto.offset.reset meant
    not_used: tuple[str, ...] = field(default=(), compare=False)

    @classmethod
    def of(cls, texts: Mapping[str, str]) -> Self:
        named, problems = _in_javas_names(texts)
        reset = named.pop("auto.offset.reset", None)
        if reset is not None and reset.strip().lower() not in OFFSET_RESETS:
            problems.append(Problem(("auto.offset.reset",), "must be earliest or latest; sources know more: start"))
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
        """These properties, and ``base``'s where they say nothing.

        Another ``bootstrap.servers`` is another cluster: it is not told the credentials for the first one.
        """
        inherited = dict(base.values)
        if self.is_another_cluster_than(base):
            inherited = {name: value for name, value in inherited.items() if not property_names.is_security(name)}
        return KafkaProperties({**inherited, **self.values}, self.offset_reset or base.offset_reset)

    def is_another_cluster_than(self, base: KafkaProperties) -> bool:
        own = self.values.get("bootstrap.servers")
        return own is not None and own != base.values.get("bootstrap.servers")

    def for_java(self, role: Role | None = None) -> dict[str, str]:
        """For Spark's ``kafka.`` options, without that prefix. Holds secrets: never log it."""
        plain, security = self._split(role)
        kept = {name: text for name, text in plain.items() if name not in property_names.LIBRDKAFKA_ONLY}
        secured = security_rules.to_java(security)[0]
        if _PROVIDERS in kept and _PROVIDERS in secured:
            secured[_PROVIDERS] = f"{kept[_PROVIDERS]},{secured[_PROVIDERS]}"
        return kept | secured

    def for_librdkafka(self, role: Role | None = None) -> dict[str, str]:
        """For confluent_kafka's clients. Holds secrets: never log it."""
        plain, security = self._split(role)
        kept = {}
        for name, text in plain.items():
            if name in property_names.RENAMED:
                kept[property_names.RENAMED[name][0]] = text
            elif name in property_names.BOTH or name in property_names.LIBRDKAFKA_ONLY:
                kept[name] = text
        return kept | security_rules.to_librdkafka(security)[0]

    def remarks(self) -> list[Problem]:
        """What was given here and has no effect, or is not known."""
        found = [Problem((name,), f"is not used: {property_names.NOT_USED[name]}") for name in self.not_used]
        for name in self.values:
            if not property_names.is_known(name):
                hint = nearest(name, property_names.KNOWN)
                hint = f"; {hint}" if hint.startswith("did you") else ""
                found.append(Problem((name,), f"is no client property that is known here and goes to Spark only{hint}"))
        return found

    def lost_in_translation(self) -> tuple[list[Problem], list[Problem]]:
        """Of security that is in effect: what one of the clients does without, and what cannot be used."""
        _, security = self._split(None)
        notes = [security_rules.to_java(security)[1], security_rules.to_librdkafka(security)[1]]
        warnings = [Problem((name,), what) for each in notes for name, what in each.warnings]
        refusals = [Problem((name,), what) for each in notes for name, what in each.refusals]
        return list(dict.fromkeys(warnings)), list(dict.fromkeys(refusals))

    def _split(self, role: Role | None) -> tuple[dict[str, str], dict[str, str]]:
        left_out: frozenset[str] = frozenset()
        if role in (Role.PRODUCER, Role.ADMIN):
            left_out |= property_names.CONSUMER_ONLY
        if role in (Role.CONSUMER, Role.ADMIN):
            left_out |= property_names.PRODUCER_ONLY
        texts = {name: text for name, text in self.reveal().items() if name not in left_out}
        security = {name: text for name, text in texts.items() if property_names.is_security(name)}
        return {name: text for name, text in texts.items() if name not in security}, security

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
    """``host:port`` pairs without blanks between them, and those that are none."""
    addresses = [part.strip() for part in text.split(",") if part.strip()]
    where = ("bootstrap.servers",)
    if isinstance(text, SecretText) or "@" in text:  # user:password@host is a guess that people make
        wrong = [Problem(where, "must be host:port, or several with commas between")] * (not _are_fine(addresses))
        return SecretText(",".join(addresses)), list(wrong)
    wrong = [Problem(where, f"'{part}' is no host:port") for part in addresses if not _is_fine(part)]
    if not addresses:
        wrong = [Problem(where, "is empty")]
    return ",".join(addresses), wrong


def _are_fine(addresses: Iterable[str]) -> bool:
    found = [_is_fine(address) for address in addresses]
    return bool(found) and all(found)


def _is_fine(address: str) -> bool:
    match = _ADDRESS.fullmatch(address)
    return match is not None and 0 < int(match[1]) < 65536


__all__ = ["KafkaProperties", "Role", "Value"]
