"""What a document tells its readers to type, and what it shows them in return."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PROMPT = "$ "


@dataclass(frozen=True)
class Step:
    """A command, and the lines below it; ``shown`` is empty where the page shows nothing."""

    command: str
    shown: str = ""

    def agrees(self, said: str) -> bool:
        """Whether it was said as shown; … stands for anything, and where nothing is shown anything may be said."""
        pattern = ".*".join(map(re.escape, self.shown.strip().split("…")))
        return not self.shown or re.fullmatch(pattern, said.strip(), re.DOTALL) is not None


def blocks(text: str, kind: str) -> list[str]:
    """The blocks of that language, in order."""
    return [block for found, block in _FENCE.findall(text) if found == kind]


def steps(text: str) -> list[Step]:
    """Of ``sh`` blocks each line is a command; in ``console`` blocks those behind a prompt are, with their output."""
    found: list[Step] = []
    for kind, block in _FENCE.findall(text):
        if kind == "sh":
            found += [Step(line) for line in block.splitlines() if line]
        elif kind == "console":
            found += _with_outputs(block)
    return found


def _with_outputs(block: str) -> Iterator[Step]:
    for part in re.split(rf"^{re.escape(_PROMPT)}", block, flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield Step(command, shown)


def table(text: str, head: str) -> list[list[str]]:
    """The cells of the table with this head."""
    lines = text.split(f"{head}\n", 1)[1].splitlines()[1:]
    shown = lines[: next(at for at, line in enumerate(lines) if not line.startswith("|"))]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in shown]
