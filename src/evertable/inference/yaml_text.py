"""Writes an inferred configuration as YAML."""

from __future__ import annotations

import hashlib
import re

import yaml

from evertable.config import names
from evertable.inference.columns import Sample
from evertable.inference.key import Key

_LONGEST_APP = 80
_VERSION = re.compile(r"[._-]?v?\d+$")


def config_yaml(servers: str, left: Sample, right: Sample, key: Key) -> str:
    """Returns the text of an ``evertable.yaml`` with all warnings at its top."""
    warnings = (*left.warnings, *right.warnings, *key.warnings)
    samples = f"{len(left.rows)} records of {left.topic} and {len(right.rows)} of {right.topic}"
    head = [
        f"Inferred by evertable init from {samples}.",
        "Review it, then run: evertable check, evertable serve",
        *(["Unsure:"] if warnings else []),
        *(f"  {warning}" for warning in warnings),
        "app: one name for each Evertable on this Kafka. join: inner, left, natural or asof.",
    ]
    sources = zip(source_names(left.topic, right.topic), (left, right), (key.left, key.right), strict=True)
    config = {
        "app": app_name(left.topic, right.topic),
        "kafka": {"bootstrap.servers": servers},
        "sources": {
            name: {"topic": sample.topic, "key": column, "columns": sample.columns} for name, sample, column in sources
        },
        "join": {"type": "left"},
    }
    text = yaml.safe_dump(config, sort_keys=False, allow_unicode=True, width=1000)
    return "".join(f"# {line}\n" for line in head) + "\n" + text


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


def _source_name(topic: str) -> str:
    name = re.sub(r"[^A-Za-z0-9]+", "_", _VERSION.sub("", topic)).strip("_")
    try:
        return names.source(name)
    except ValueError:
        return ""
