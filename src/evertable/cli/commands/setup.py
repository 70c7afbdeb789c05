"""``evertable setup``: makes the machine ready ahead of the first use."""

from __future__ import annotations

import typer

from evertable.runtime import prepare


def setup() -> None:
    """Find Java (on Debian as root: install it), fetch and check the jars, ready the join operator.

    Does nothing when all is there. Other commands do the same on first use, except for installing Java.

    Example:  evertable setup
    """
    prepare(lambda line: typer.echo(f"  {line}"))
    typer.echo("Ready. Next: evertable broker --port 9092")
