"""``evertable setup``: prepares the machine before the first use."""

from __future__ import annotations

import typer

from evertable.install import prepare


def setup() -> None:
    """Prepare this machine: Java, the jars, the join operator.

    Finds Java (on Debian as root: installs it), downloads and verifies the jars, and compiles the operator if needed.
    What is in place already is kept. Other commands do the same on first use, except for installing Java.

    Example:  evertable setup
    """
    prepare(lambda line: typer.echo(f"  {line}"))
    typer.echo("Ready. Next: evertable broker --port 9092")
