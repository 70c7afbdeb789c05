"""Reads YAML as plain data: mappings with text keys, lists, texts and nulls, and nothing else.

A scalar stays the text that was written; its field decides what it means. So `no`, `1.10`, `0123` or `12:30` never
become booleans, floats, octals or base-60 numbers, neither as values nor as names of columns.
Messages name the line but never quote it, as it may contain a secret.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import yaml

from evertable.problems import Problem, dotted

Data = str | None | list["Data"] | dict[str, "Data"]

MAX_NODES = 100_000  # aliases of aliases can expand to billions
MAX_DEPTH = 50

BOM = "\ufeff"
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_MERGE = "tag:yaml.org,2002:merge"
_TEXT = "tag:yaml.org,2002:str"

_SYNTAX = (  # PyYAML's messages and ours; its own may quote the text
    ("found undefined alias", "an alias (*name) without its anchor; a text that begins with * needs quotes"),
    ("found character", "a character that cannot begin a value, such as a tab, @ or `; put the value in quotes"),
    ("mapping values are not allowed", "a second ': ' where one value is expected; put it in quotes"),
    ("expected ',' or", "an unfinished {…} or […]; inside them ${VAR} needs quotes"),
    ("could not find expected ':'", "a name without its ':'"),
    ("expected <block end>", "a line whose indentation matches no line above"),
    ("but found another document", "a second document; one is expected"),
    ("found unexpected end of stream", "a quote that is not closed"),
)


@dataclass
class Document:
    """The content of a YAML text, the line of every value (by dotted path), and the problems in it."""

    data: Data = None
    lines: dict[str, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)


def parse(text: str) -> Document:
    """Parses the only document in ``text``; reports problems instead of raising."""
    if (at := text.find(BOM, 1)) > 0:  # some editors write one as the first character, which is allowed
        line = text.count("\n", 0, at) + 1
        return Document(
            problems=[Problem((), f"line {line}: has a byte order mark (BOM), which is invisible; delete it")]
        )
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        return _Reading().read(node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "the file"
        return Document(problems=[Problem((), f"{where}: not valid YAML: {_explained(error)}")])
    except yaml.reader.ReaderError:
        return Document(problems=[Problem((), "not valid YAML: it contains a character that is not allowed")])
    except RecursionError:
        return Document(problems=[Problem((), "not valid YAML: it is nested too deeply")])


def _explained(error: yaml.MarkedYAMLError) -> str:
    message = f"{error.context or ''} {error.problem or ''}"
    return next((words for marker, words in _SYNTAX if marker in message), "it cannot be parsed from here on")


class _TooMuchError(Exception):
    """The document expands to more than any configuration needs."""


class _Reading:
    """Walks over PyYAML's nodes. PyYAML's constructors are not used, as they would interpret the scalars."""

    def __init__(self) -> None:
        self.document = Document()
        self.nodes = 0

    def read(self, root: yaml.Node | None) -> Document:
        try:
            self.document.data = None if root is None else self._value(root, ())
        except _TooMuchError:
            what = "the YAML is too large or too deep; does an alias contain itself?"
            self.document.problems.append(Problem((), what))
        return self.document

    def _value(self, node: yaml.Node, path: tuple[str, ...]) -> Data:
        self.nodes += 1
        if self.nodes > MAX_NODES or len(path) > MAX_DEPTH:
            raise _TooMuchError
        self.document.lines[dotted(path)] = node.start_mark.line + 1
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self._value(item, (*path, str(index))) for index, item in enumerate(node.value)]
        assert isinstance(node, yaml.ScalarNode)  # noqa: S101 - YAML has no fourth kind
        return self._scalar(node, path)

    def _scalar(self, node: yaml.ScalarNode, path: tuple[str, ...]) -> Data:
        plain = node.style is None
        if plain and node.value in _NULLS and node.tag != _TEXT:
            return None
        if not node.tag.startswith("!"):
            return str(node.value)
        self.document.problems.append(
            Problem(path, "tags (!…) are not supported; a text that begins with ! needs quotes")
        )
        return None

    def _mapping(self, node: yaml.MappingNode, path: tuple[str, ...]) -> Data:
        merged: dict[str, Data] = {}
        own: dict[str, Data] = {}
        for key, value in self._pairs(node, path):
            name = str(key.value)
            if key.tag == _MERGE:
                for mapping in self._merged(value, path):
                    merged = mapping | merged  # of several, the first one counts
            elif name in own:
                first = self.document.lines[dotted((*path, name))]
                what = f"is given twice, in lines {first} and {key.start_mark.line + 1}"
                self.document.problems.append(Problem((*path, name), what))
            else:
                own[name] = self._value(value, (*path, name))
        return merged | own

    def _pairs(self, node: yaml.MappingNode, path: tuple[str, ...]) -> Iterator[tuple[yaml.ScalarNode, yaml.Node]]:
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode):
                yield key, value
            else:
                what = f"line {key.start_mark.line + 1}: a list or a mapping cannot be a name; ${{VAR}} needs quotes"
                self.document.problems.append(Problem(path, what))

    def _merged(self, node: yaml.Node, path: tuple[str, ...]) -> Iterator[dict[str, Data]]:
        found = self._value(node, path)
        for mapping in found if isinstance(found, list) else [found]:
            if isinstance(mapping, dict):
                yield mapping
            else:
                self.document.problems.append(Problem(path, "'<<' takes a mapping, or a list of them"))
