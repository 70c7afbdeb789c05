"""The jars as executors may have them: in any order, for that is how they load them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from zipfile import ZipFile


def without_ours(ours: Path, jars: Sequence[Path], folder: Path) -> list[Path]:
    """These jars without the classes that ours stand in for; one that has such is copied to the folder."""
    with ZipFile(ours) as jar:
        classes = {name for name in jar.namelist() if name.endswith(".class")}
    return [_without(classes, jar, folder) for jar in jars]


def _without(classes: set[str], jar: Path, folder: Path) -> Path:
    with ZipFile(jar) as whole:
        kept = [entry for entry in whole.infolist() if entry.filename not in classes]
        if len(kept) == len(whole.infolist()):
            return jar
        with ZipFile(folder / jar.name, "w") as less:
            for entry in kept:
                less.writestr(entry, whole.read(entry))
    return folder / jar.name
