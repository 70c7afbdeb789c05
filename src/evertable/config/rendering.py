"""Renders the effective configuration as YAML that could be loaded again, with secrets masked."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

import yaml
from pydantic import SecretStr

from evertable.config.expansion import escape
from evertable.config.models import Config
from evertable.config.section import Section
from evertable.config.start import Start
from evertable.problems import dotted
from evertable.properties import Properties
from evertable.schema.columns import Column
from evertable.secrets import MASK

Path = tuple[str, ...]

_LINE_ENDS = frozenset("\x85\u2028\u2029")


def effective(config: Config) -> str:
    """Renders everything that is in effect: defaults, the environment and expansions included."""
    plain = _Rendering(config).plain(config)
    text = yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=1000)
    if _LINE_ENDS.isdisjoint(text):
        return text
    return yaml.safe_dump(plain, sort_keys=False, width=1000)  # unescaped, PyYAML would read these line ends as blanks


class _Rendering:
    def __init__(self, config: Config) -> None:
        self.secret_paths = config.secret_paths
        if self.secret_paths & {"app", "changelog.prefix"}:  # the default control topic's name contains both
            self.secret_paths |= {"control.topic"}

    def plain(self, value: object, at: Path = ()) -> object:
        match value:
            case Section():
                keys = [key for key in type(value).model_fields if key != "name"]  # a source's name is its key
                return {key: self.plain(getattr(value, key), (*at, key)) for key in keys}
            case Properties():
                return {name: text if text == MASK else escape(text) for name, text in value.masked().items()}
            case Mapping():
                return {name: self.plain(item, (*at, name)) for name, item in value.items()}
            case SecretStr():
                return MASK
            case tuple() if not all(isinstance(item, Column) for item in value):
                return [self._hide(str(item), at, str(index)) for index, item in enumerate(value)]
            case ():
                return []
            case tuple():
                return {column.name: self._column(column, (*at, column.name)) for column in value}
            case Enum() | Start():
                return self._hide(str(value), at)
            case str():
                return self._hide(value, at)
        return value

    def _column(self, column: Column, at: Path) -> object:
        if column.record_field is not None:
            return {"from": column.record_field.value}
        return self._hide(str(column.type), at)

    def _hide(self, text: str, at: Path, *item: str) -> str:
        return MASK if {dotted(at), dotted((*at, *item))} & self.secret_paths else escape(text)
