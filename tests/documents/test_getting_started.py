"""The pages for beginners and for troubles are correct; the first one is followed command by command."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
import yaml
from confluent_kafka.admin import AdminClient
from tests.documents.reader import HOST, Reader, differences
from tests.markdown import ROOT, blocks, steps, table

from evertable.cli import app
from evertable.config import load
from evertable.config.structure import FIELDS, PROPERTIES
from evertable.server import operations

NAMES = ("GETTING-STARTED.md", "JOINS.md", "TROUBLESHOOTING.md")
PAGES = {name: (ROOT / "docs" / name).read_text() for name in NAMES}
PAGE = PAGES["GETTING-STARTED.md"]

NOT_TYPED = {
    "scripts/setup": "it sets up the clone that runs this test; tests/install/test_setup_script.py runs it",
    "pip install": "tests/demo installs the wheel",
}
BROKER, SERVE, TAIL = "evertable broker", "evertable serve", "evertable tail"
JOINED, REJECTED = "evertable tail final_ui --sort -balance", "evertable tail dead_letters"


class Trial:
    """A run through all commands of the page."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.topics: set[str] = set()
        self.exit_codes: list[int] = []

    def follow(self) -> None:
        settings, *_ = blocks(PAGE, "yaml")
        for step in steps(PAGE):
            if step.command.startswith(tuple(NOT_TYPED)):
                continue
            if step.command == "evertable check":
                self.reader.write("evertable.yaml", settings)
                self.reader.write("wrong.yaml", settings.replace("age: long", "age: lng").replace("join:", "joins:"))
            elif "token_urlsafe" in step.command:
                self.exit_codes += self.reader.close(TAIL) + self.reader.close(SERVE)
            self.reader.type(step)
            if step.command.startswith(JOINED):
                self.reader.terminal(JOINED).wait_for(3)
            elif '"sav"' in step.command:
                self.reader.terminal(JOINED).wait_for(4)
        self.topics = set(
            AdminClient({"bootstrap.servers": f"{HOST}:{self.reader.kafka}"}).list_topics(timeout=30).topics
        )
        self.exit_codes += self.reader.close(TAIL) + self.reader.close(SERVE) + self.reader.close(BROKER)

    def rows(self, tail: str) -> list[list[str]]:
        """Returns what a tail printed, without the head."""
        return [line.split("\t") for line in self.reader.terminal(tail).lines[1:]]


@pytest.fixture(scope="module")
def trial(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trial]:
    with Reader(tmp_path_factory.mktemp("trial")) as reader:
        followed = Trial(reader)
        followed.follow()
        yield followed


def test_every_command_does_what_the_page_shows(trial: Trial) -> None:
    assert differences(trial.reader.typed) == ""
    assert set(trial.exit_codes) == {0}  # of the commands that run until Ctrl-C


def test_the_joined_rows_are_those_of_the_page(trial: Trial) -> None:
    """Later Bob's row is filled."""
    shown = table(PAGE, "| userId | name | age | accountType | balance |")
    assert trial.rows(JOINED)[:2] == [["" if cell == "null" else cell for cell in row] for row in shown]
    assert ["u2", "Bob", "17", "sav", "12.0"] in trial.rows(JOINED)


def test_the_broken_record_is_rejected_as_the_page_shows(trial: Trial) -> None:
    assert trial.rows(REJECTED) == table(PAGE, "| source | partition | offset | reason |")


def test_what_the_trial_leaves(trial: Trial) -> None:
    """The topics and folders of the page, with the number of the last live generation."""
    places = " ".join(where for _, where in table(PAGE, "| what it leaves | where |")).replace("g000001", "g000003")
    topics = set(re.findall(r"topic `([\w.-]+)`", places))
    assert topics == {name for name in trial.topics if name.startswith("evertable")}
    files = re.findall(r"`~/.local/state/([^`]+)`", places)
    assert len(files) == 2
    assert [file for file in files if not (trial.reader.folder / "state" / file).exists()] == []


_INLINE = re.compile(r"`(evertable [a-z][^`]*)`")
_ASSIGNED = re.compile(r"[A-Z_]+=")
COMMAND = typer.main.get_command(app.build_app())
OTHERS = {"scripts/setup", "python3", "pip", "chmod", "curl", "tail", "df", "ss", "java"}
"""Programs other than ours."""


def commands(page: str) -> list[str]:
    """Returns all commands of a page, in blocks and in sentences."""
    return [*(step.command for step in steps(PAGES[page])), *_INLINE.findall(PAGES[page])]


def words(command: str) -> list[str]:
    """Splits a command, without the variables that are set for it."""
    found = shlex.split(command)
    while _ASSIGNED.match(found[0]):
        found.pop(0)
    return found


@pytest.mark.parametrize("command", list(dict.fromkeys(command for page in NAMES for command in commands(page))))
def test_a_command_exists_with_these_options(command: str) -> None:
    """Commands within sentences, too."""
    program, *arguments = words(command)
    if program != "evertable":
        assert program in OTHERS
        return
    name, *given = arguments
    if name == "--version":
        return
    own = getattr(COMMAND, "commands")[name]  # noqa: B009 - typer's type does not declare it
    own.make_context(name, given)  # raises for unknown options


def test_addresses_are_the_server_s() -> None:
    known = set(yaml.safe_load(Path(operations.__file__).with_name("openapi.yaml").read_text())["paths"])
    asked = [path for page in PAGES.values() for path in re.findall(r"https?://[\w.-]+:\d+(/[a-z][\w./]*)", page)]
    assert asked
    for path in asked:
        assert re.sub(r"^/api/tables/\w+", "/api/tables/{name}", path) in known


@pytest.mark.parametrize("page", NAMES)
def test_settings_can_be_loaded(page: str, tmp_path: Path) -> None:
    for text in blocks(PAGES[page], "yaml"):
        file = tmp_path / "evertable.yaml"
        file.write_text(text)
        assert load(file, {"KAFKA_PASSWORD": "secret"}).warnings == ()


@pytest.mark.parametrize("page", NAMES)
def test_settings_that_are_named_exist(page: str) -> None:
    sections = {path[0] for path in FIELDS}
    for named in re.findall(r"`([a-z]+(?:\.[a-z_.]+)+)[:`]", PAGES[page]):
        path = tuple(named.split("."))
        if path[0] in sections and path[-1] not in ("timestamp", "partition", "offset"):
            assert path in FIELDS or path[:1] in PROPERTIES or path[:2] in PROPERTIES, named


def test_every_line_of_the_settings_is_explained() -> None:
    text = blocks(PAGE, "yaml")[0]
    keys = set(re.findall(r"^ *(app|kafka|sources|topic|key|columns|join):", text, re.MULTILINE))
    assert [line.strip("`") for line, _ in table(PAGE, "| line | meaning |")] == [
        key for key in ("app", "kafka", "sources", "topic", "key", "columns", "join") if key in keys
    ]


@pytest.mark.parametrize(
    "login", [text for text in blocks((ROOT / "docs/SECURITY.md").read_text(), "yaml") if "…" not in text]
)
def test_logins_are_accepted(login: str, tmp_path: Path) -> None:
    """Those of docs/SECURITY.md, with the sources of this page."""
    settings = yaml.safe_load(blocks(PAGE, "yaml")[0]) | yaml.safe_load(login)
    file = tmp_path / "evertable.yaml"
    file.write_text(yaml.safe_dump(settings))
    secrets = dict.fromkeys(("KAFKA_CLIENT_ID", "KAFKA_CLIENT_SECRET", "KAFKA_PASSWORD", "KEY_PASSWORD"), "secret")
    for name in ("ca.pem", "client.crt", "client.key"):
        (tmp_path / name).touch()
    assert load(file, secrets).warnings == ()
