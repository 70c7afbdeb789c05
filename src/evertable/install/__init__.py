"""The installer of what Evertable needs besides Python: Java, jars from Maven, and the compiled join operator."""

from __future__ import annotations

from collections.abc import Callable

from evertable.install import java
from evertable.install.jars import SETS, jar_paths
from evertable.install.operator import operator_jar

Progress = Callable[[str], None]


def prepare(progress: Progress = lambda _line: None) -> None:
    """Installs everything that would otherwise be installed on first use; does nothing if it is there already."""
    found = java.find_or_install_java(progress)
    progress(f"Java {found.major} at {found.home}")
    for name in SETS:
        progress(f"{name} jars: {len(jar_paths(name, progress))} in place")
    progress(f"join operator at {operator_jar(progress)}")
