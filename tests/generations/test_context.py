"""A checkpoint is deleted, also while Spark still writes to it."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from evertable.generations.context import GenerationContext


def test_a_checkpoint_is_deleted_while_a_stopped_task_still_writes(tmp_path: Path) -> None:
    nothing: Any = None
    context = GenerationContext(nothing, nothing, nothing, str(tmp_path), nothing, nothing, nothing, nothing)
    late, begun = Path(context.checkpoint(3)) / "state" / "0", threading.Event()

    def write() -> None:
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            with suppress(OSError):  # its parent has just been deleted
                late.mkdir(parents=True, exist_ok=True)
            begun.set()

    task = threading.Thread(target=write)
    task.start()
    begun.wait()
    context.delete_checkpoint(3)
    task.join()
    assert context.checkpoints_left() == []
