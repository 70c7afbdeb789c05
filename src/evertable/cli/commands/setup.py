"""``evertable setup``: makes the machine ready ahead of the first use."""

from __future__ import annotations

import typer

from evertable.install import prepare


def setup() -> None:
    """Make this machine ready: Java, the jars, the join operator.

    Finds Java (on Debian as root: installs it), fetches and checks the jars, readies the operator. Does nothing when
    all is there. Other commands do the same on first use, except for installing Java.

    Example:  evertable setup
    """
    prepare(lambda line: typer.echo(f"  {line}"))
    typer.echo("Ready. Next: evertable broker --port 9092")
