"""Executors load jars in any order, so no class may be in two of them."""

from __future__ import annotations

from pathlib import Path
from zipfile import ZipFile

from evertable.engine.shipping import without_ours
from evertable.install.jars import jar_paths
from evertable.install.operator import operator_jar


def names(jar: Path) -> set[str]:
    with ZipFile(jar) as opened:
        assert opened.testzip() is None
        return set(opened.namelist())


def held(jars: list[Path]) -> set[str]:
    return {name for jar in jars for name in names(jar)}


def test_each_class_of_ours_is_shipped_once_and_all_others_are_kept(tmp_path: Path) -> None:
    """The one of the connector's that ours stands in for is left out; other jars are taken as they are."""
    connector = jar_paths("connector")
    shipped = without_ours(operator_jar(), connector, tmp_path)
    replaced = {name for name in names(operator_jar()) if name.startswith("org/apache/spark/") and ".class" in name}
    assert replaced
    assert held(connector) - held(shipped) == replaced
    assert [old for old, new in zip(connector, shipped, strict=True) if old == new] == [
        jar for jar in connector if not names(jar) & replaced
    ]
