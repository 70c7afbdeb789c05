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
    """The content of a YAML text, the line of every value (by dotted path), and the problems in it.

    PyYAML's nodes are read without its constructors, as those would interpret the scalars.
    """

    data: Data = None
    lines: dict[str, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    _nodes: int = 0

    def read(self, node: yaml.Node, path: tuple[str, ...] = ()) -> Data:
        """Returns what a node and those below it hold; RecursionError if there is no end of them."""
        self._nodes += 1
        if self._nodes > MAX_NODES or len(path) > MAX_DEPTH:
            raise RecursionError
        self.lines[dotted(path)] = node.start_mark.line + 1
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path)
        if isinstance(node, yaml.SequenceNode):
            return [self.read(item, (*path, str(index))) for index, item in enumerate(node.value)]
        assert isinstance(node, yaml.ScalarNode)  # noqa: S101 - YAML has no fourth kind
        if node.style is None and node.value in _NULLS and node.tag != _TEXT:
            return None
        if not node.tag.startswith("!"):
            return str(node.value)
        self.problems.append(Problem(path, "tags (!…) are not supported; a text that begins with ! needs quotes"))
        return None

    def _mapping(self, node: yaml.MappingNode, path: tuple[str, ...]) -> Data:
        merged: dict[str, Data] = {}
        own: dict[str, Data] = {}
        for key, value in node.value:
            name, line = str(key.value), key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                what = f"line {line}: a list or a mapping cannot be a name; ${{VAR}} needs quotes"
                self.problems.append(Problem(path, what))
            elif key.tag == _MERGE:
                found = self.read(value, path)
                for mapping in found if isinstance(found, list) else [found]:
                    if isinstance(mapping, dict):
                        merged = mapping | merged  # of several, the first one counts
                    else:
                        self.problems.append(Problem(path, "'<<' takes a mapping, or a list of them"))
            elif name in own:
                what = f"is given twice, in lines {self.lines[dotted((*path, name))]} and {line}"
                self.problems.append(Problem((*path, name), what))
            else:
                own[name] = self.read(value, (*path, name))
        return merged | own


def parse(text: str) -> Document:
    """Parses the only document in ``text``; reports problems instead of raising."""
    document = Document()
    if (at := text.find(BOM, 1)) > 0:  # some editors write one as the first character, which is allowed
        what = f"line {text.count(chr(10), 0, at) + 1}: has a byte order mark (BOM), which is invisible; delete it"
        return Document(problems=[Problem((), what)])
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        document.data = None if node is None else document.read(node)
        return document
    except yaml.MarkedYAMLError as error:
        mark, message = error.problem_mark or error.context_mark, f"{error.context or ''} {error.problem or ''}"
        where = f"line {mark.line + 1}, column {mark.column + 1}" if mark else "the file"
        words = next((words for marker, words in _SYNTAX if marker in message), "it cannot be parsed from here on")
        what = f"{where}: not valid YAML: {words}"
    except yaml.reader.ReaderError:
        what = "not valid YAML: it contains a character that is not allowed"
    except RecursionError:
        what = "the YAML is too large or nested too deeply; does an alias contain itself?"
    document.problems.append(Problem((), what))
    return document


def texts(data: Data, at: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yields every text in ``data``, with its path."""
    match data:
        case str():
            yield at, data
        case dict():
            for name, value in data.items():
                yield from texts(value, (*at, name))
        case list():
            for index, item in enumerate(data):
                yield from texts(item, (*at, str(index)))
