"""``evertable serve`` that kills itself at a certain moment: ``python -m tests.serving.dying before 2 serve …``."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any
from unittest import mock

from evertable.application import Application
from evertable.cli import main


def die_at_the_flip(moment: str, generation: int) -> None:
    """Kills the whole process group with -9, right before or right after this generation is shown."""
    flip = Application._flip

    def fatal(self: Application, hub: Any, number: int, *rest: Any) -> int:
        if (moment, number) == ("before", generation):
            os.killpg(0, signal.SIGKILL)
        publication = flip(self, hub, number, *rest)
        if (moment, number) == ("after", generation):
            os.killpg(0, signal.SIGKILL)
        return publication

    mock.patch.object(Application, "_flip", fatal).start()


if __name__ == "__main__":
    die_at_the_flip(sys.argv.pop(1), int(sys.argv.pop(1)))
    main()
