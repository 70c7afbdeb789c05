"""``docs/COMMANDS.md``, generated from the commands (``python -m evertable.cli.reference`` prints it).

A test holds the file to this text, so an option cannot be added without its line.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import typer

from evertable.cli.app import build_app

WIDTH = 100

INTRO = """# Commands

*Generated from the commands by `python -m evertable.cli.reference > docs/COMMANDS.md`: do not edit it here.*

What `evertable COMMAND --help` prints. In a clone the program is `.venv/bin/evertable`. Whatever can be set by a
variable of the environment says so; [the settings](CONFIGURATION.md) that `evertable serve` runs with have variables of
their own.

Exit codes: 0, it was done; 1, it was not, and the message says why; 2, the command line or the configuration cannot be
used. A message begins with its condition: [all of them](TROUBLESHOOTING.md#every-condition).
"""


def reference() -> str:
    """The whole page."""
    texts = help_texts()
    whole = texts.pop("")
    listed = [f"| [`{name}`](#evertable-{name}) | {_first_sentence(text)} |" for name, text in texts.items()]
    return "\n".join([INTRO, "| command | what it does |", "|---|---|", *listed, "", *_sections(whole, texts)])


def help_texts() -> dict[str, str]:
    """By the name of the command, that of ``evertable`` itself under no name; as wide everywhere, without colours."""
    group = typer.main.get_group(build_app())
    settings = group.context_settings
    texts = {"": group.get_help(typer.Context(group, info_name=group.name, terminal_width=WIDTH, **settings))}
    for name, command in group.commands.items():
        context = typer.Context(command, info_name=f"{group.name} {name}", terminal_width=WIDTH, **settings)
        texts[name] = command.get_help(context)
    return texts


def _sections(whole: str, texts: dict[str, str]) -> Iterator[str]:
    yield f"```text\n{whole.partition('Commands:')[0].rstrip()}\n```\n"
    for name, text in texts.items():
        yield f"## evertable {name}\n\n```text\n{text.rstrip()}\n```\n"


def _first_sentence(text: str) -> str:
    """Of a help text: the paragraph below its usage."""
    return text.split("\n\n")[1].strip()


if __name__ == "__main__":
    sys.stdout.write(reference())
