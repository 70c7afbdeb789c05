"""The ``evertable`` command. Each subcommand is a file in ``commands/``: drop one in, and it is there."""

from evertable.cli.app import main

__all__ = ["main"]
