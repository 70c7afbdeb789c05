"""A run: the acts of a schedule while records flow and viewers watch, then the verdict."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from tests.chaos.schedule import LETTERS, Act, Kind, steps
from tests.chaos.stage import Stage
from tests.chaos.verdict import verdict
from tests.proxy import Proxy

from evertable.broker import EmbeddedBroker
from evertable.schema.joins import JoinType


def run(
    broker: EmbeddedBroker, proxy: Proxy, folder: Path, seed: int, acts: Sequence[Act], report: Callable[[str], None]
) -> list[str]:
    """Returns the problems that were found, and leaves the server's output in the folder."""
    chance = random.Random(f"{seed}/last")
    last = {
        "usersTopic": chance.choice(LETTERS),
        "accountsTopic": chance.choice(LETTERS),
        "joinType": chance.choice(list(JoinType)).value,
    }
    small_disk = any(act.kind is Kind.DISK_FULL for act in acts)
    with Stage(broker, proxy, folder, seed, report, small_disk=small_disk) as stage:
        begin, moment = time.monotonic(), 0.0
        try:
            for step in steps(acts):
                time.sleep(step.at_s - moment)  # after the last step, which may take seconds
                moment = step.at_s
                report(f"{time.monotonic() - begin:6.1f} s  {'healed: ' if step.heals else ''}{step.act.kind}")
                stage.server.restart_if_ended()
                stage.do(step)
            stage.heal()
            stage.sources.pause()
            counts = f"{stage.sources.taken} records sent, {stage.witness.pages} pages seen"
            report(f"{time.monotonic() - begin:6.1f} s  everything is healed; {counts}")
            return verdict(stage, last, report)
        finally:
            (folder / "serve.log").write_text(stage.server.log())
