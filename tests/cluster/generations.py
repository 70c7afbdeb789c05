"""Generations of all joins on the same topics, side by side on a cluster."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tests.engine.outcomes import assert_equals_reference
from tests.engine.rig import Generation, config

from evertable.config import JoinType
from evertable.engine.process import Engine


class Joins:
    """One generation for each join, all on the same topics."""

    def __init__(self, generations: list[Generation]) -> None:
        self.all = generations
        self.send = generations[0].send
        for generation in generations:
            generation.sent = generations[0].sent

    def read(self) -> None:
        for generation in self.all:
            generation.read()

    def assert_equal_reference(self) -> None:
        for join, generation in zip(JoinType, self.all, strict=True):
            assert_equals_reference(generation, join, random.Random(0))


@contextmanager
def joins(bootstrap: str, topics: tuple[str, str], engine: Engine, folder: Path) -> Iterator[Joins]:
    """Builds the generations without starting them, and stops them at the end."""
    with ExitStack() as stack:
        made = []
        for number, join in enumerate(JoinType, 1):
            wiring = config(bootstrap, *topics, join)
            engine_section = wiring.engine.model_copy(update={"readers": 2})
            wiring = wiring.model_copy(update={"app": folder.name, "engine": engine_section})
            generation = Generation(wiring, number, engine, folder / f"checkpoint-{number}")
            made.append(generation)
            stack.callback(lambda each: each.reader.close(), generation)
            stack.callback(engine.stop, number)
        yield Joins(made)
