"""Jars are shipped so that no class is in two of them, since executors load jars in any order."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

from evertable.engine.launch import without_replaced_classes
from evertable.install.jars import jar_paths
from evertable.install.operator import operator_jar


def names(jar: Path) -> set[str]:
    with ZipFile(jar) as opened:
        assert opened.testzip() is None
        return set(opened.namelist())


def held(jars: list[Path]) -> set[str]:
    return {name for jar in jars for name in names(jar)}


def test_a_class_that_the_operator_replaces_is_left_out_of_the_connector(tmp_path: Path) -> None:
    """All other classes are kept, and other jars are shipped as they are."""
    connector = jar_paths("connector")
    shipped = without_replaced_classes(operator_jar(), connector, tmp_path)
    replaced = {name for name in names(operator_jar()) if name.startswith("org/apache/spark/") and ".class" in name}
    assert replaced
    assert held(connector) - held(shipped) == replaced
    assert [old for old, new in zip(connector, shipped, strict=True) if old == new] == [
        jar for jar in connector if not names(jar) & replaced
    ]
