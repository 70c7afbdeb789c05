"""``evertable serve`` that kills itself at a certain moment: ``python -m tests.serving.dying before 2 serve …``."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any
from unittest import mock

from evertable import application
from evertable.cli import main


def die_at_the_flip(moment: str, generation: int) -> None:
    """Kills the whole process group with -9, right before or right after this generation is shown."""
    flip = application._flip

    def fatal(hub: Any, number: int, *rest: Any) -> None:
        if (moment, number) == ("before", generation):
            os.killpg(0, signal.SIGKILL)
        flip(hub, number, *rest)
        if (moment, number) == ("after", generation):
            os.killpg(0, signal.SIGKILL)

    mock.patch.object(application, "_flip", fatal).start()


if __name__ == "__main__":
    die_at_the_flip(sys.argv.pop(1), int(sys.argv.pop(1)))
    main()
