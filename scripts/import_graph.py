#!/usr/bin/env python3
"""Draws which package of evertable imports which, as a Mermaid diagram; exits with 1 if there is a cycle.

An arrow that follows from others is left out: if the server imports views and views import tables, the arrow from
server to tables is not drawn. Everything may import ``errors``, so it is not drawn either.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1] / "src" / "evertable"
OMITTED = {"errors", "__init__", "__version__"}

Graph = Mapping[str, set[str]]


def import_graph() -> dict[str, set[str]]:
    """Returns every package or top-level module with its imports."""
    graph: dict[str, set[str]] = {}
    for path in SOURCE.rglob("*.py"):
        name = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        if name not in OMITTED:
            graph.setdefault(name, set()).update(set(_imported(path)) - OMITTED - {name})
    return graph


def bottom_up(graph: Graph) -> list[str]:
    """Sorts the names, each after its imports; raises CycleError if there is no such order."""
    sorter = TopologicalSorter({name: sorted(graph[name]) for name in sorted(graph)})
    return list(sorter.static_order())


def direct(graph: Graph) -> dict[str, set[str]]:
    """Returns the graph without implied arrows."""
    reach: dict[str, set[str]] = {}
    for name in bottom_up(graph):
        reach[name] = set(graph[name]).union(*(reach[other] for other in graph[name]))
    return {
        name: {other for other in others if not any(other in reach[between] for between in others - {other})}
        for name, others in graph.items()
    }


def draw(graph: Graph) -> str:
    arrows = direct(graph)
    lines = [f"  {name} --> {other}" for name in reversed(bottom_up(graph)) for other in sorted(arrows[name])]
    return "\n".join(["```mermaid", "flowchart TD", *lines, "```"])


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "evertable":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("evertable."):
            yield str(node.module).split(".")[1]
        elif isinstance(node, ast.Import):
            yield from (name.name.split(".")[1] for name in node.names if name.name.startswith("evertable."))


if __name__ == "__main__":
    try:
        print(draw(import_graph()))
    except CycleError as cycle:
        sys.exit(f"Packages import each other in a circle: {' -> '.join(cycle.args[1])}")
