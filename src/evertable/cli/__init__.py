"""The ``evertable`` command. Each module in ``commands`` is a subcommand."""

from evertable.cli.app import main

__all__ = ["main"]
