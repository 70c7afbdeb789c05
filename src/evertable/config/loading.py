"""Loads a ``Config`` from a file and the environment, or reports every problem at once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from evertable.config import checks, document
from evertable.config.document import Data, texts
from evertable.config.environment import PREFIX, overlay
from evertable.config.expansion import Expansion
from evertable.config.models import Config, Draft
from evertable.config.structure import PROPERTIES, known_keys, matches
from evertable.errors import ConfigError
from evertable.problems import NOT_SHOWN, Problem, dotted, problems_of, touches
from evertable.secrets import MASK, SecretText, is_secret

FILE = "evertable.yaml"
VARIABLE = "EVERTABLE_CONFIG"
NEXT_STEP = "docs/CONFIGURATION.md describes every key."


def load(path: Path | None = None, env: Mapping[str, str] | None = None) -> Config:
    """Loads ``path``, or the first file in ``places_searched``, with ``env`` (or the process's) laid over it."""
    env = os.environ if env is None else env
    places = [path] if path is not None else places_searched(env)
    found = next((place for place in places if _is_there(place)), None)
    has_variables = any(name.startswith(PREFIX) and "__" in name and env[name] for name in env)
    if found is None and (path is not None or VARIABLE in env or not has_variables):
        raise ConfigError(
            "No configuration was found.",
            [f"{place}: there is no such file" for place in places],
            f"Write one ({NEXT_STEP}), or name it: evertable check FILE, or {VARIABLE}=FILE.",
        )
    text = "" if found is None else _read(found)
    return _Loading(found, env).config(text)


def state_dir() -> Path:
    """Returns where checkpoints and logs are kept, unless the configuration names a folder."""
    root = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(root) / "evertable"


def places_searched(env: Mapping[str, str]) -> list[Path]:
    """Returns where a configuration is searched if none is named; ``EVERTABLE_CONFIG`` replaces all of them."""
    if chosen := env.get(VARIABLE):
        return [Path(chosen)]
    own = env.get("XDG_CONFIG_HOME") or (f"{env['HOME']}/.config" if env.get("HOME") else "")
    return [Path(FILE), *([Path(own) / "evertable" / FILE] if own else []), Path("/etc/evertable") / FILE]


def _is_there(place: Path) -> bool:
    try:
        return place.exists()
    except OSError:  # in a folder without access
        return False


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise ConfigError(f"{path} cannot be read.", [f"{path}: {error.strerror}"]) from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path} cannot be used.", [f"{path}: it is not UTF-8 text"], NEXT_STEP) from None


class _Loading:
    """One load: remembers lines, variables and secrets, so that problems can name the first two and hide the last."""

    def __init__(self, path: Path | None, env: Mapping[str, str]) -> None:
        self.path = path
        self.folder = path.parent if path is not None else Path()
        self.env = env
        self.problems: list[Problem] = []
        self.origins: dict[str, str] = {}
        self.secrets: dict[str, str] = {}  # dotted path → the value that must not be shown

    def config(self, text: str) -> Config:
        read = document.parse(text)
        data = self._data(read)
        config: Config | None = None
        try:
            config = Config.model_validate(data, context={"folder": self.folder})
        except ValidationError as error:
            draft = Draft.model_validate(checks.with_defaults(data))
            found = problems_of(error, known_keys, self.secrets) + checks.disagreements(draft)
            already = {problem.where for problem in self.problems}  # where expansion failed, more problems mean nothing
            self.problems += [problem for problem in dict.fromkeys(found) if problem.where not in already]
        if config is None or self.problems:
            raise self._error() from None  # the cause would contain the values
        config._path = self.path
        config._secret_paths = frozenset(self.secrets)
        config._plaintext_secrets = tuple(path for path, text in texts(read.data) if _is_plaintext_secret(path, text))
        return config

    def _data(self, read: document.Document) -> dict[str, Data]:
        """Returns the document's data with references expanded and variables laid over it."""
        self.problems += read.problems
        if not isinstance(read.data, dict | None):
            self.problems.append(Problem((), "the file must be a mapping (kafka: …, sources: …)"))
        if not isinstance(read.data, dict) and self.problems:
            raise self._error()
        expansion = Expansion(self.env, self.folder)
        expanded = expansion.expand(read.data or {})
        self.problems += expansion.problems
        data, variables = overlay(expanded if isinstance(expanded, dict) else {}, self.env, self.problems)
        self.origins = {where: f"line {line}" for where, line in read.lines.items()} | variables
        self.secrets = {dotted(path): text for path, text in texts(data) if isinstance(text, SecretText)}
        return data

    def _error(self) -> ConfigError:
        name = str(self.path) if self.path is not None else "The configuration from the environment"
        many = f"{len(self.problems)} problems" if len(self.problems) > 1 else "a problem"
        return ConfigError(f"{name} has {many}.", [self._shown(problem) for problem in self.problems], NEXT_STEP)

    def _shown(self, problem: Problem) -> str:
        origin = self.origins.get(problem.where, "") if problem.path else ""
        text = f"{problem} ({origin})" if origin and "line" not in problem.what else str(problem)
        for where, secret in self.secrets.items():
            if secret and secret in problem.what and touches(problem.path, [where]):
                text = f"{problem.where}: {NOT_SHOWN}"
            elif len(secret) > 3:  # a shorter one would mask parts of ordinary words
                text = text.replace(secret, MASK)
        return text


def _is_plaintext_secret(path: tuple[str, ...], text: str) -> bool:
    """Returns whether a text in the file is a property that is probably secret."""
    names = [path[len(section) :] for section in PROPERTIES if matches(path[: len(section)], section)]
    return bool(text) and "${" not in text and any(is_secret(".".join(name)) for name in names)
