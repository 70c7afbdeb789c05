"""Loads a ``Config`` from a file and the environment, or reports every problem at once."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import ValidationError

from evertable.config import checks, document
from evertable.config.document import Data
from evertable.config.environment import PREFIX, EnvironmentOverlay
from evertable.config.expansion import Expansion
from evertable.config.models import Config, Draft
from evertable.config.structure import FIELDS, PROPERTIES, known_keys
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
    if found is None and (path is not None or VARIABLE in env or not _has_variables(env)):
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


def _has_variables(env: Mapping[str, str]) -> bool:
    return any(name.startswith(PREFIX) and "__" in name and env[name] for name in env)


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
        self.plaintext_secrets: tuple[tuple[str, ...], ...] = ()  # paths of secrets in the file itself

    def config(self, text: str) -> Config:
        data = self._data(text)
        config: Config | None = None
        try:
            config = Config.model_validate(data, context={"folder": self.folder})
        except ValidationError as error:
            self.problems += self._from_models(error, data)
        if config is None or self.problems:
            raise self._error() from None  # the cause would contain the values
        config._path = self.path
        config._secret_paths = frozenset(self.secrets)
        config._plaintext_secrets = self.plaintext_secrets
        return config

    def _data(self, text: str) -> dict[str, Data]:
        read = document.parse(text)
        self.problems += read.problems
        self.origins |= {where: f"line {line}" for where, line in read.lines.items()}
        if read.data is not None and not isinstance(read.data, dict):
            self.problems.append(Problem((), "the file must be a mapping (kafka: …, sources: …)"))
        if not isinstance(read.data, dict) and self.problems:
            raise self._error()
        self.plaintext_secrets = tuple(_plaintext_secrets(read.data))
        expansion = Expansion(self.env, self.folder)
        expanded = expansion.expand(read.data or {})
        overlay = EnvironmentOverlay(FIELDS, PROPERTIES)
        data = overlay.apply(expanded if isinstance(expanded, dict) else {}, self.env)
        self.problems += expansion.problems + overlay.problems
        self.origins |= overlay.origins
        self.secrets = {dotted(path): value for path, value in _secrets(data)}
        return data

    def _from_models(self, error: ValidationError, data: Mapping[str, Data]) -> list[Problem]:
        """Returns pydantic's problems, and those between the sections that are valid by themselves."""
        already = {problem.where for problem in self.problems}  # where expansion failed, further problems mean nothing
        draft = Draft.model_validate(checks.with_defaults(data))
        found = problems_of(error, known_keys, self.secrets) + checks.disagreements(draft)
        return [problem for problem in dict.fromkeys(found) if problem.where not in already]

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


def _plaintext_secrets(data: Data, at: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yields the paths of properties in the file that are probably secret."""
    if isinstance(data, dict):
        for name, value in data.items():
            yield from _plaintext_secrets(value, (*at, name))
    elif isinstance(data, str) and data and "${" not in data:
        own = [at[index + 1 :] for index, part in enumerate(at) if part in ("kafka", "spark")]
        if own and is_secret(".".join(own[0])):
            yield at


def _secrets(data: Data, at: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    match data:
        case SecretText():
            yield at, str(data)
        case dict():
            for name, value in data.items():
                yield from _secrets(value, (*at, name))
        case list():
            for index, item in enumerate(data):
                yield from _secrets(item, (*at, str(index)))
