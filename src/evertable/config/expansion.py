"""Expands ``${VAR}``, ``${VAR:-default}`` and ``${file:path}`` in values; ``$${`` is a plain ``${``.

The inserted text is data: it is never parsed as YAML nor expanded again, so it cannot change the document's structure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from evertable.config.document import Data
from evertable.problems import Problem
from evertable.secrets import SecretText, suggests_secret

MAX_FILE = 1 << 20

_REFERENCE = re.compile(r"\$\$\{|\$\{(?P<inside>[^{}]*)\}|\$\{")
_VARIABLE = re.compile(r"(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?P<default>:-.*)?", re.DOTALL)


@dataclass
class Expansion:
    """Expands the references in a document; relative files are in ``folder``."""

    env: Mapping[str, str]
    folder: Path
    problems: list[Problem] = field(default_factory=list)

    def expand(self, data: Data, path: tuple[str, ...] = ()) -> Data:
        """Returns ``data`` with every reference replaced; an invalid one is a problem and leaves its value empty."""
        match data:
            case dict():
                return {name: self.expand(value, (*path, name)) for name, value in data.items()}
            case list():
                return [self.expand(item, (*path, str(index))) for index, item in enumerate(data)]
            case str():
                return self._text(data, path)
        return data

    def _text(self, text: str, path: tuple[str, ...]) -> str:
        is_secret = False

        def replaced(match: re.Match[str]) -> str:
            nonlocal is_secret
            if match[0] == "$${":
                return "${"
            try:
                value = self._value(match["inside"])
            except ValueError as error:
                self.problems.append(Problem(path, str(error)))
                return ""
            is_secret = is_secret or isinstance(value, SecretText)
            return value

        expanded = _REFERENCE.sub(replaced, text)
        return SecretText(expanded) if is_secret else expanded

    def _value(self, inside: str | None) -> str:
        if inside is not None and inside.startswith("file:"):
            return self._file(inside.removeprefix("file:").strip())
        match = _VARIABLE.fullmatch(inside or "")
        if match is None:
            raise ValueError(
                "has a '${' that is not ${VAR}, ${VAR:-default} or ${file:path}; a plain one is written $${"
            )
        name, default = match["name"], match["default"]
        value = self.env.get(name, "") if default is not None else self.env.get(name)
        if value is None:
            raise ValueError(f"the environment variable {name} is not set; ${{{name}:-…}} would give it a default")
        chosen = value or (default or "").removeprefix(":-")
        return SecretText(chosen) if suggests_secret(name) else chosen

    def _file(self, name: str) -> SecretText:
        """Reads a file's text without its last line end. It counts as a secret, as secrets are often kept in files."""
        if not name or "\0" in name:
            raise ValueError("${file:} names no file")
        path = self.folder / Path(name).expanduser()
        try:
            with path.open("rb") as file:
                content = file.read(MAX_FILE + 1)
        except OSError as error:
            raise ValueError(f"the file {path} cannot be read: {error.strerror or type(error).__name__}") from None
        except RuntimeError:  # ~ of an unknown user
            raise ValueError(f"the file {name} cannot be found") from None
        if len(content) > MAX_FILE:
            raise ValueError(f"the file {path} is larger than 1 MiB")
        try:
            text = content.decode()
        except UnicodeDecodeError:
            raise ValueError(f"the file {path} is not UTF-8 text") from None
        if text.startswith("\ufeff"):  # it would be part of the secret
            raise ValueError(f"the file {path} begins with a byte order mark (BOM); save it as UTF-8 without one")
        return SecretText(text.removesuffix("\n").removesuffix("\r"))


def escape(text: str) -> str:
    """Returns ``text`` so that expanding it returns it unchanged."""
    return text.replace("${", "$${")
