"""The pages for those who begin or are stuck tell the truth: commands, settings, records, outputs and links."""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path

import pytest
import typer
import yaml
from tests.reference.joins import Row, join
from tests.reference.records import Reject, SourceRecord, meaning

from evertable.cli import app
from evertable.config import Config, JoinType, Role, load
from evertable.config.structure import PROPERTIES, paths
from evertable.generations import serving
from evertable.server import openapi
from evertable.tables.generation import DEAD_LETTER_COLUMNS

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
NAMES = ("GETTING-STARTED.md", "JOINS.md", "TROUBLESHOOTING.md")
PAGES = {name: (DOCS / name).read_text() for name in NAMES}
PAGE = PAGES["GETTING-STARTED.md"]

COMMAND = typer.main.get_command(app.build_app())
OTHERS = {"scripts/setup", "source", "python3", "pip", "chmod", "curl", "tail", "df", "ss", "java"}
"""Programs that are not ours, and one that is a file."""

_BLOCK = re.compile(r"^```(console|yaml)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`(evertable [a-z][^`]*)`")
_ASSIGNED = re.compile(r"[A-Z_]+=")


def blocks(page: str, kind: str) -> list[str]:
    return [text for found, text in _BLOCK.findall(PAGES[page]) if found == kind]


def commands(page: str) -> list[str]:
    """All that the page tells to type, in blocks and in sentences."""
    typed = [line[2:] for block in blocks(page, "console") for line in block.splitlines() if line.startswith("$ ")]
    return [*typed, *_INLINE.findall(PAGES[page])]


def words(command: str) -> list[str]:
    """Without the variables that are set for it."""
    found = shlex.split(command)
    while _ASSIGNED.match(found[0]):
        found.pop(0)
    return found


ALL = list(dict.fromkeys(command for page in NAMES for command in commands(page)))


@pytest.mark.parametrize("command", ALL)
def test_a_command_is_there_with_these_options(command: str) -> None:
    program, *arguments = words(command)
    if program != "evertable":
        assert program in OTHERS
        return
    name, *given = arguments
    if name == "--version":
        return
    own = getattr(COMMAND, "commands")[name]  # noqa: B009 - typer's type does not tell that it is a group
    own.make_context(name, given)  # parses all of it, and raises for what it does not take


def test_set_up_is_a_script() -> None:
    assert (ROOT / "scripts" / "setup").is_file()


def test_addresses_are_the_server_s() -> None:
    known = set(yaml.safe_load(Path(openapi.__file__).with_suffix(".yaml").read_text())["paths"])
    asked = [path for page in PAGES.values() for path in re.findall(r"https?://[\w.-]+:\d+(/[a-z][\w./]*)", page)]
    assert asked
    for path in asked:
        assert re.sub(r"^/api/tables/\w+", "/api/tables/{name}", path) in known


@pytest.mark.parametrize("page", NAMES)
def test_settings_can_be_loaded(page: str, tmp_path: Path) -> None:
    for text in blocks(page, "yaml"):
        file = tmp_path / "evertable.yaml"
        file.write_text(text)
        assert load(file, {"KAFKA_PASSWORD": "secret"}).warnings == ()


@pytest.mark.parametrize("page", NAMES)
def test_settings_that_are_named_exist(page: str) -> None:
    sections = {path[0] for path in paths()}
    for named in re.findall(r"`([a-z]+(?:\.[a-z_.]+)+)[:`]", PAGES[page]):
        path = tuple(named.split("."))
        if path[0] in sections and path[-1] not in ("timestamp", "partition", "offset"):
            assert path in paths() or path[:1] in PROPERTIES or path[:2] in PROPERTIES, named


@pytest.mark.parametrize("page", NAMES)
def test_links_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)]+)\)", PAGES[page]):
        file, _, anchor = target.partition("#")
        path = DOCS / (file or page)
        assert path.is_file(), target
        headings = re.findall(r"^#+ (.+)$", path.read_text(), re.MULTILINE)
        assert not anchor or anchor in {re.sub(r"[^\w -]", "", h.lower()).replace(" ", "-") for h in headings}, target


@pytest.fixture
def config(tmp_path: Path) -> Config:
    file = tmp_path / "evertable.yaml"
    file.write_text(blocks("GETTING-STARTED.md", "yaml")[0])
    return load(file, {})


def matches(shown: str, said: str) -> bool:
    """Whether it was said as shown; … stands for anything."""
    return re.fullmatch(".*".join(map(re.escape, shown.strip().split("…"))), said.strip(), re.DOTALL) is not None


def test_check_says_what_the_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Of the file on the page, and of the same with two mistakes."""
    text = blocks("GETTING-STARTED.md", "yaml")[0]
    (tmp_path / "evertable.yaml").write_text(text)
    (tmp_path / "wrong.yaml").write_text(text.replace("age: long", "age: lng").replace("join:", "joins:"))
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("EVERTABLE_")]:
        monkeypatch.delenv(name)
    shown = [b for b in blocks("GETTING-STARTED.md", "console") if b.startswith("$ evertable check")]
    assert len(shown) == 2
    for block in shown:
        typed, _, output = block.partition("\n")
        monkeypatch.setattr(sys, "argv", words(typed[2:]))
        with pytest.raises(SystemExit):
            app.main()
        captured = capfd.readouterr()
        assert matches(output, captured.out + captured.err)


def sent(topic: str) -> list[SourceRecord]:
    """The records that the page sends to a topic, in their order."""
    given = [words(command) for command in commands("GETTING-STARTED.md") if f"send {topic} " in command]
    values = [word.encode() for command in given for word in command[3:] if word.startswith("{")]
    return [SourceRecord(0, offset, 1_000 + offset, value) for offset, value in enumerate(values)]


def rows(config: Config, topic: str) -> list[Row]:
    source = next(each for each in config.sources.values() if each.topic == topic)
    read = [(record, meaning(record, source.columns)) for record in sent(topic)]
    return [
        Row(record.partition, record.offset, record.timestamp, values[0], values)
        for record, values in read
        if not isinstance(values, Reject)
    ]


def table(head: str) -> list[list[str]]:
    """The cells of the table with this head."""
    lines = PAGE.split(f"{head}\n", 1)[1].splitlines()[1:]
    shown = lines[: next(at for at, line in enumerate(lines) if not line.startswith("|"))]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in shown]


def test_the_join_is_that_of_the_records(config: Config) -> None:
    """Before Bob gets an account."""
    users, accounts = rows(config, "users_v1"), rows(config, "accounts_v1")[:1]
    left, right = ({row.id: row.values for row in side} for side in (users, accounts))
    pairs = join(JoinType(config.join.type), users, accounts)
    joined = [
        (*left[one], *(right[other][1:] if other is not None else (None, None)))
        for one, other in pairs
        if one is not None
    ]
    told = table("| userId | name | age | accountType | balance |")
    assert sorted(["null" if cell is None else str(cell) for cell in row] for row in joined) == sorted(told)


def test_the_broken_record_is_refused_as_the_page_says(config: Config) -> None:
    *_, broken = sent("users_v1")
    ((source, partition, offset, reason),) = table("| source | partition | offset | reason |")
    found = meaning(broken, config.sources[source].columns)
    assert isinstance(found, Reject)
    assert (int(partition), int(offset)) == (broken.partition, broken.offset)
    assert reason.startswith(f"{found.condition}: column '{found.column}' wants long")
    assert {"source", "partition", "offset", "reason"} <= {column.name for column in DEAD_LETTER_COLUMNS}


def test_what_is_left_behind(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of topics and folders are the real ones."""
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)
    folder = f"~/{serving.state_dir().relative_to(Path.home())}"
    told = {where for _, where in table("| what it leaves | where |")}
    assert {f"`{folder}/checkpoints/{config.app}`", f"`{folder}/{config.app}/spark.log`"} <= told
    own = config.own_topics
    topics = re.findall(r"topic `([\w.-]+)`", " ".join(told))
    assert len(topics) == 3
    assert all(own.role(topic) for topic in topics)


def test_every_line_of_the_settings_is_explained() -> None:
    text = blocks("GETTING-STARTED.md", "yaml")[0]
    keys = set(re.findall(r"^ *(app|kafka|sources|topic|key|columns|join):", text, re.MULTILINE))
    assert [line.strip("`") for line, _ in table("| line | what it says |")] == [
        key for key in ("app", "kafka", "sources", "topic", "key", "columns", "join") if key in keys
    ]


def test_the_password_reaches_kafka(tmp_path: Path) -> None:
    file = tmp_path / "evertable.yaml"
    file.write_text(blocks("GETTING-STARTED.md", "yaml")[1])
    assert load(file, {"KAFKA_PASSWORD": "s3"}).kafka.for_librdkafka(Role.CONSUMER)["sasl.password"] == "s3"
