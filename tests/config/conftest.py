"""A minimal configuration, and fixtures that load variants of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from evertable.config import Config, load
from evertable.errors import ConfigError

MINIMAL = """\
kafka: {bootstrap.servers: "localhost:9092"}
sources:
  users: {topic: users_v1, key: userId, columns: {userId: string, name: string}}
  accounts: {topic: accounts_v1, key: userId, columns: {userId: string, balance: double}}
"""

Load = Callable[..., Config]
Problems = Callable[..., tuple[str, ...]]


@pytest.fixture(scope="session")
def minimal() -> str:
    return MINIMAL


@pytest.fixture(scope="session")
def load_text(tmp_path_factory: pytest.TempPathFactory) -> Load:
    """Loads a text as evertable.yaml; the environment is empty unless given."""
    folder = tmp_path_factory.mktemp("config")

    def loaded(
        text: str = MINIMAL, env: Mapping[str, str] | None = None, files: Mapping[str, str] | None = None
    ) -> Config:
        for name, content in (files or {}).items():
            (folder / name).write_bytes(content.encode())
        path = folder / "evertable.yaml"
        path.write_bytes(text.encode())
        return load(path, env or {})

    return loaded


@pytest.fixture(scope="session")
def problems(load_text: Load) -> Problems:
    """Returns the problems of a text."""

    def found(
        text: str = MINIMAL, env: Mapping[str, str] | None = None, files: Mapping[str, str] | None = None
    ) -> tuple[str, ...]:
        with pytest.raises(ConfigError) as refused:
            load_text(text, env, files)
        return refused.value.problems

    return found
