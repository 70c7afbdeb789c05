"""Writes an inferred configuration as YAML."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator

from evertable.config import names
from evertable.inference.columns import Sample
from evertable.inference.key import Key

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}  # YAML reads these as booleans or null
_LONGEST_APP = 80
_VERSION = re.compile(r"[._-]?v?\d+$")


def config_yaml(servers: str, left: Sample, right: Sample, key: Key) -> str:
    """Returns the text of an ``evertable.yaml`` with all doubts at its top."""
    return "\n".join(_lines(servers, left, right, key)) + "\n"


def source_names(left: str, right: str) -> tuple[str, str]:
    """Returns names for both sources, made of their topics' names if possible."""
    found = _source_name(left), _source_name(right)
    return ("left", "right") if "" in found or found[0] == found[1] else found


def app_name(left: str, right: str) -> str:
    """Returns an app name made of both topics' names, always the same for the same topics."""
    joined = f"{left}-{right}".replace(".", "-")  # a dot ends the app's part of a topic name
    if len(joined) <= _LONGEST_APP:
        return joined
    digest = hashlib.sha256(f"{left}\n{right}".encode()).hexdigest()[:8]
    return f"{joined[: _LONGEST_APP - len(digest) - 1]}-{digest}"


def _lines(servers: str, left: Sample, right: Sample, key: Key) -> Iterator[str]:
    samples = f"{len(left.rows)} records of {left.topic} and {len(right.rows)} of {right.topic}"
    yield f"# Inferred by evertable init from {samples}."
    yield "# Review it, then run: evertable check, evertable serve"
    doubts = (*left.doubts, *right.doubts, *key.doubts)
    if doubts:
        yield "# Unsure:"
        yield from (f"#   {doubt}" for doubt in doubts)
    yield ""
    yield f"app: {json.dumps(app_name(left.topic, right.topic))}   # one name for each Evertable on this Kafka"
    yield f"kafka: {{bootstrap.servers: {json.dumps(servers)}}}"
    yield "sources:"
    for name, sample, column in zip(
        source_names(left.topic, right.topic), (left, right), (key.left, key.right), strict=True
    ):
        yield f"  {name}:"
        yield f"    topic: {_scalar(sample.topic)}"
        yield f"    key: {_scalar(column)}"
        yield "    columns:"
        yield from (f"      {_scalar(field)}: {type_}" for field, type_ in sample.columns.items())
    yield "join: {type: left}   # or inner, natural, asof"


def _source_name(topic: str) -> str:
    name = re.sub(r"[^A-Za-z0-9]+", "_", _VERSION.sub("", topic)).strip("_")
    try:
        return names.source(name)
    except ValueError:
        return ""


def _scalar(text: str) -> str:
    plain = _PLAIN.fullmatch(text) and text.lower() not in _WORDS
    return text if plain else json.dumps(text, ensure_ascii=False)
