"""Renders the effective configuration as YAML that could be loaded again, with secrets masked."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

import yaml
from pydantic import SecretStr

from evertable.config.expansion import escape
from evertable.config.models import Config
from evertable.problems import dotted
from evertable.secrets import MASK

_LINE_ENDS = frozenset("\x85\u2028\u2029")


def effective(config: Config) -> str:
    """Renders everything that is in effect: defaults, the environment and expansions included."""
    secret_paths = config._secret_paths
    if secret_paths & {"app", "changelog.prefix"}:  # the default control topic's name contains both
        secret_paths |= {"control.topic"}
    plain = _plain(config.model_dump(), (), secret_paths)
    text = yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=1000)
    if _LINE_ENDS.isdisjoint(text):
        return text
    return yaml.safe_dump(plain, sort_keys=False, width=1000)  # unescaped, PyYAML would read these line ends as blanks


def _plain(value: object, at: tuple[str, ...], secret_paths: AbstractSet[str]) -> object:
    match value:
        case dict():
            return {name: _plain(item, (*at, name), secret_paths) for name, item in value.items()}
        case tuple():
            return [_plain(item, (*at, str(index)), secret_paths) for index, item in enumerate(value)]
        case SecretStr():
            return MASK
        case str():
            above = (dotted(at[:end]) for end in range(1, len(at) + 1))  # a list may come from one variable
            return escape(str(value)) if secret_paths.isdisjoint(above) else MASK
    return value
