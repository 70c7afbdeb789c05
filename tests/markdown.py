"""Commands, blocks of code and tables of the documents."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

ROOT = Path(__file__).parents[1]

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PROMPT = "$ "


@dataclass(frozen=True)
class Step:
    """A command of a page, and the output that the page shows, if any."""

    command: str
    shown: str = ""

    def matches(self, output: str) -> bool:
        """Returns whether this is the output that the page shows, where … stands for anything."""
        pattern = ".*".join(map(re.escape, self.shown.strip().split("…")))
        return not self.shown or re.fullmatch(pattern, output.strip(), re.DOTALL) is not None


def blocks(text: str, kind: str) -> list[str]:
    """Returns the blocks of that language, in order."""
    return [block for found, block in _FENCE.findall(text) if found == kind]


def steps(text: str) -> list[Step]:
    """Returns each line of ``sh`` blocks, and the commands of ``console`` blocks with their output."""
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


def table(text: str, before: str) -> list[list[str]]:
    """Returns the cells of the first table at or after some text, without its head."""
    lines = text[text.index(before) :].splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("|"))
    rows = takewhile(lambda line: line.startswith("|"), lines[first:])
    return [[cell.strip() for cell in re.split(r"(?<= )\|(?= )", line.strip("|"))] for line in list(rows)[2:]]
