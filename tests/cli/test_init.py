"""``evertable init`` on real topics: a valid configuration, or an error."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.changelog.producer import produce_to
from typer.testing import CliRunner

from evertable.broker import EmbeddedBroker
from evertable.cli.app import build_app
from evertable.client.errors import OutputError
from evertable.config import load, names
from evertable.errors import NoGuessError, TopicNotFoundError
from evertable.inference.yaml_text import app_name


def init(*arguments: str) -> str:
    result = CliRunner().invoke(build_app(), ["init", *arguments])
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(scope="module")
def topics(broker: EmbeddedBroker, new_topic: Callable[..., str]) -> tuple[str, str]:
    made = new_topic(2), new_topic()
    send = produce_to(broker.bootstrap)
    for number in range(20):
        row = {"userId": f"u{number}", "näme of it": "Ada", "no": number, "since": "2026-11-15"}
        send(made[0], [json.dumps(row).encode()], partition=number % 2)
    send(made[1], [json.dumps({"userId": f"u{number}", "balance": number / 2}).encode() for number in range(20)])
    send(made[1], [b"{broken"])
    return made


def test_a_file_that_can_be_served(broker: EmbeddedBroker, topics: tuple[str, str], tmp_path: Path) -> None:
    file = tmp_path / "evertable.yaml"
    output = init(*topics, "--kafka", broker.bootstrap, "--file", str(file))
    warning = f"1 of 21 records of {topics[1]} are not JSON objects"
    assert f"Unsure: {warning}" in output
    assert f"#   {warning}" in file.read_text()
    config = load(file, {})
    assert [source.topic for source in (config.left, config.right)] == list(topics)
    assert config.app == "-".join(topics)
    assert [source.key for source in (config.left, config.right)] == ["userId", "userId"]
    columns = {column.name: str(column.type) for column in config.left.columns}
    assert columns == {"userId": "string", "näme of it": "string", "no": "long", "since": "date"}
    with pytest.raises(OutputError, match="exists already"):
        init(*topics, "--kafka", broker.bootstrap, "--file", str(file))
    init(*topics, "--kafka", broker.bootstrap, "--file", str(file), "--force")


def test_an_app_name_is_valid_and_differs_for_other_topics() -> None:
    long = "t" * 200
    assert app_name("shop.users", "accounts_v1") == "shop-users-accounts_v1"
    made = [app_name(long, "a"), app_name(long, "b"), app_name("a", long), app_name("a.b", "c"), app_name("a", "c")]
    assert [names.topic_part(name) for name in made] == made
    assert len(set(made)) == len(made)
    assert max(map(len, made)) <= 80


def test_topics_must_be_named_if_there_are_more_than_two(
    broker: EmbeddedBroker, topics: tuple[str, str], tmp_path: Path
) -> None:
    file = str(tmp_path / "e.yaml")
    with pytest.raises(NoGuessError, match=r"Which two topics\? .*evertable init LEFT RIGHT"):
        init(topics[0], "--kafka", broker.bootstrap, "--file", file)
    with pytest.raises(TopicNotFoundError, match="nothing-here"):
        init("nothing-here", topics[1], "--kafka", broker.bootstrap, "--file", file)
    with pytest.raises(
        TopicNotFoundError, match=rf"'nothing-here'.* no topic '{topics[1]}x'. Did you mean '{topics[1]}"
    ):
        init("nothing-here", f"{topics[1]}x", "--kafka", broker.bootstrap, "--file", file)
    assert list(tmp_path.iterdir()) == []


def test_topics_without_json_objects(broker: EmbeddedBroker, new_topic: Callable[..., str], tmp_path: Path) -> None:
    with pytest.raises(NoGuessError, match=r"No record of .* is a JSON object"):
        init(new_topic(), new_topic(), "--kafka", broker.bootstrap, "--file", str(tmp_path / "e.yaml"))
