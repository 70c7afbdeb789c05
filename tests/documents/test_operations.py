"""docs/OPERATIONS.md and deploy/ are correct: names, rights, metrics, commands, paths."""

from __future__ import annotations

import configparser
import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import SecretStr
from tests.markdown import ROOT

from evertable.changelog.topics import topic_name
from evertable.cli.app import build_app
from evertable.config import KafkaProperties, load, loading
from evertable.config.models import Changelog
from evertable.config.names import CONTROL, STATE
from evertable.engine.process import ARRIVAL_S
from evertable.engine.session import LOCAL_SETTINGS, LOCAL_SLOTS, SETTINGS, slots_of
from evertable.install import cache
from evertable.server.metrics import METRICS, Metrics, MetricType
from evertable.server.security import AccessRules, RequestHead
from evertable.state.ownership import LEASE_S
from evertable.state.state_topic import StateTopic

SOURCE = ROOT / "src" / "evertable"
DEPLOY = ROOT / "deploy"
PAGE = (ROOT / "docs" / "OPERATIONS.md").read_text()

DASHBOARD = (DEPLOY / "grafana.json").read_text()
UNIT = (DEPLOY / "evertable.service").read_text()
CONTAINERFILE = (DEPLOY / "Containerfile").read_text()
COMPOSE = (DEPLOY / "compose.yaml").read_text()

PREFIX, APP = Changelog().prefix, "demo"
BY_NAME = {metric.name: metric for metric in METRICS}
OF_THE_PROCESS = set(re.findall(r"^process_\w+", Metrics().text().decode(), re.MULTILINE))


# --- metrics


def expressions(dashboard: dict[str, Any]) -> list[tuple[str, str]]:
    """Returns each expression with its legend."""
    shown = [(t["expr"], t["legendFormat"]) for panel in dashboard["panels"] for t in panel["targets"]]
    return [*shown, *((note["expr"], "") for note in dashboard["annotations"]["list"])]


def metric_of(name: str) -> str:
    base = re.sub(r"_(bucket|sum|count)$", "", name)
    return base if base in BY_NAME and BY_NAME[base].type is MetricType.HISTOGRAM else name


def test_every_metric_of_the_dashboard_exists() -> None:
    """So do the labels of legends and sums."""
    for expression, legend in expressions(json.loads(DASHBOARD)):
        names = {metric_of(name) for name in re.findall(r"\b(?:evertable|process)_\w+", expression)}
        assert names
        assert names - set(BY_NAME) - OF_THE_PROCESS == set()
        labels = {"job", "le"}.union(*(BY_NAME[name].labels for name in names if name in BY_NAME))
        named = {*re.findall(r"\{\{(\w+)\}\}", legend), *re.findall(r"by \((\w+)\)", expression)}
        assert named | set(re.findall(r"(\w+)=\"", expression)) <= labels


def test_the_dashboard_shows_every_metric() -> None:
    shown = {metric_of(name) for name in re.findall(r"\bevertable_\w+", DASHBOARD)}
    assert set(BY_NAME) - shown == set()


def test_the_dashboard_names_no_host() -> None:
    assert re.findall(r"://|localhost|\d+\.\d+\.\d+\.\d+", DASHBOARD) == []
    assert {panel["datasource"]["uid"] for panel in json.loads(DASHBOARD)["panels"]} == {"${source}"}


def test_panels_do_not_overlap() -> None:
    places = [panel["gridPos"] for panel in json.loads(DASHBOARD)["panels"]]
    cells = [(x, y) for p in places for x in range(p["x"], p["x"] + p["w"]) for y in range(p["y"], p["y"] + p["h"])]
    assert len(cells) == len(set(cells))
    assert max(x for x, _ in cells) < 24


def test_every_metric_of_the_alarms_exists() -> None:
    names = {metric_of(name) for name in re.findall(r"\bevertable_\w+", PAGE)}
    assert names
    assert names - set(BY_NAME) == set()


# --- Kafka


def rights() -> dict[str, set[str]]:
    """Returns the operations by the name of the resource, from the table of rights."""
    found: dict[str, set[str]] = {}
    for _, name, operations, _ in re.findall(
        r"^\| (topic[^|]*|transactional id|cluster) \|(.*?)\|(.*?)\|(.*)\|$", PAGE, re.M
    ):
        known = re.fullmatch(r" `(.*)` ", name)
        found.setdefault(known[1] if known else name.strip(), set()).update(operations.strip().split(", "))
    return found


def test_the_names_of_its_own_topics() -> None:
    state = StateTopic(KafkaProperties.of({"bootstrap.servers": "localhost:1"}), PREFIX, APP)
    assert set(rights()) >= {f"{PREFIX}.{APP}.{CONTROL}", state.topic, f"{PREFIX}.{APP}"}
    assert state.topic == f"{PREFIX}.{APP}.{STATE}"
    assert state._transactional_id == f"{PREFIX}.{APP}"
    prefixes = [name for name in rights() if name and topic_name(PREFIX, APP, 1).startswith(name)]
    assert set(prefixes) == {f"{PREFIX}.{APP}.g", f"{PREFIX}.{APP}"}
    assert f"`{topic_name(PREFIX, APP, 1)}`" in PAGE


ASKED = re.compile(
    r"\.(create_topics|delete_topics|describe_configs|describe_topics|list_offsets|init_transactions|alter_\w+"
    r"|incremental_alter_configs|create_partitions|delete_records|describe_cluster|delete_groups|commit\b|subscribe)\("
)
CALLS = {
    # Requests that need a special right; all others need Read, Write or Describe.
    "changelog/topics.py": {"describe_configs"},
    "state/state_topic.py": {"init_transactions"},
    "kafka/topics.py": {"create_topics", "delete_topics", "describe_topics"},
    "generations/watch.py": {"list_offsets"},
}


def test_the_rights_are_those_of_the_calls_in_the_code() -> None:
    """If this fails for a new call, the table of rights may need a line."""
    apart = ("broker", "demo", "inference", "client", "server")  # for trials, or without Kafka
    found: dict[str, set[str]] = {}
    for path in SOURCE.rglob("*.py"):
        name = str(path.relative_to(SOURCE))
        if (
            not name.startswith(apart)
            and (calls := set(ASKED.findall(path.read_text())))
            and "kafka" in path.read_text()
        ):
            found[name] = calls
    assert found == CALLS
    everywhere = {"Read", "Describe"}
    assert rights()[f"{PREFIX}.{APP}.{CONTROL}"] == {*everywhere, "Write", "Create"}
    assert rights()[f"{PREFIX}.{APP}.{STATE}"] == {*everywhere, "Write", "Create"}
    assert rights()[f"{PREFIX}.{APP}.g"] == {*everywhere, "Write", "Create", "Delete"}
    assert rights()[f"{PREFIX}.{APP}"] == {"Write", "Describe"}
    assert {"Read", "Describe"} <= rights()["every source topic that may be wired"]
    assert rights()["the same"] == {"DescribeConfigs"}


# --- Spark, logs, numbers


def test_what_masters_mean() -> None:
    assert slots_of("local[*]") == slots_of("local") == (f"local[{LOCAL_SLOTS}]", LOCAL_SLOTS)
    assert slots_of("spark://host:7077") == ("spark://host:7077", None)
    for text in (
        f"with {LOCAL_SLOTS} task slots",
        f"came or went less than {ARRIVAL_S:g} seconds ago",
    ):
        assert text in PAGE
    assert SETTINGS["spark.driver.memory"] == "2g"
    assert LOCAL_SETTINGS["spark.shuffle.streaming.checksum.enabled"] == "false"
    assert "spark.shuffle.streaming.checksum.enabled" not in SETTINGS
    assert f"the next start waits {LEASE_S:g} seconds" in PAGE


def test_catch_up_is_what_the_readme_says() -> None:
    rates = re.findall(r"^\| `\w+` \| ([\d,]+) \| [\d.]+ ms", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert f"{min(rates)} to {max(rates)} rows a second" in PAGE


def test_where_things_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unit and image set variables that the code reads."""
    monkeypatch.setenv("XDG_STATE_HOME", "/var/lib")
    monkeypatch.setenv("EVERTABLE_CACHE", "/var/cache/evertable")
    assert loading.state_dir() == Path("/var/lib/evertable")
    assert cache.cache_folder() == Path("/var/cache/evertable")
    for text in (UNIT, CONTAINERFILE):
        assert "XDG_STATE_HOME=/var/lib" in text
        assert "EVERTABLE_CACHE=/var/cache/evertable" in text


# --- behind a proxy

OUTSIDE = (b"origin", b"https://tables.example")
TOKEN = (b"authorization", b"Bearer sesame")


def condition(rules: AccessRules, *headers: tuple[bytes, bytes]) -> str | None:
    refusal = rules.refusal(RequestHead("/api/tables", headers))
    return refusal.condition if refusal else None


def test_what_a_proxy_must_forward() -> None:
    rules = AccessRules(SecretStr("sesame"))
    assert condition(rules, (b"host", b"tables.example"), OUTSIDE, TOKEN) is None
    assert condition(rules, (b"host", b"127.0.0.1:10000"), OUTSIDE, TOKEN) == "ORIGIN_NOT_ALLOWED"
    assert condition(AccessRules(), (b"host", b"tables.example")) == "HOST_NOT_ALLOWED"


def test_the_page_uses_relative_addresses() -> None:
    """They let it work below a path."""
    page = (ROOT / "web/app/src/index.html").read_text()
    addresses = re.findall(r"(?:href|src)=\"([^\"]*)\"", page)
    assert addresses
    assert [each for each in addresses if each.startswith("/") or ":" in each] == []


# --- the unit, the image, compose


def commands() -> set[str]:
    names = {command.name or "" for command in build_app().registered_commands}
    assert names
    return names


def test_the_unit() -> None:
    parser = configparser.RawConfigParser(strict=False)
    parser.optionxform = str  # type: ignore[assignment, method-assign]  # systemd's keys have capitals
    parser.read_string(UNIT)
    program, command, config = parser["Service"]["ExecStart"].split()
    assert program == "/opt/evertable/.venv/bin/evertable"  # made by scripts/setup
    assert command in commands()
    assert config == "/etc/evertable/evertable.yaml"
    assert parser["Service"]["StateDirectory"] == parser["Service"]["CacheDirectory"] == "evertable"
    assert parser["Service"]["RestartPreventExitStatus"] == "2"
    assert (ROOT / parser["Unit"]["Documentation"].removeprefix("file:///opt/evertable/")).is_file()


def test_the_containerfile() -> None:
    """The files that it copies and runs exist; images have plain names."""
    images = re.findall(r"^FROM (\S+)", CONTAINERFILE, re.MULTILINE)
    assert [image for image in images if not re.fullmatch(r"python:3\.11-slim(-\w+)?", image)] == []
    for line in re.findall(r"^COPY (?!--from)(.+)$", CONTAINERFILE, re.MULTILINE):
        assert [path for path in line.split()[:-1] if not (ROOT / path).exists()] == []
    assert [path for path in re.findall(r"scripts/\w+", CONTAINERFILE) if not (ROOT / path).is_file()] == []
    entry, arguments = (json.loads(text) for text in re.findall(r"^(?:ENTRYPOINT|CMD) (.*)$", CONTAINERFILE, re.M))
    assert entry == ["evertable"]
    assert arguments[0] in commands()
    assert set(re.findall(r"&& evertable (\w+)", CONTAINERFILE)) <= commands()
    copied = re.findall(r"-r /tmp/(\S+)", CONTAINERFILE)
    assert sorted(copied) == ["requirements-build.lock", "requirements.lock"]


def test_compose_runs_that_image_with_a_valid_configuration() -> None:
    (service,) = yaml.safe_load(COMPOSE)["services"].values()
    assert (DEPLOY / service["build"]["context"] / service["build"]["dockerfile"]).resolve() == DEPLOY / "Containerfile"
    assert "/" not in service["image"]
    mounted = dict(volume.split(":")[:2] for volume in service["volumes"])
    ((file, inside),) = ((here, there) for here, there in mounted.items() if here.startswith("."))
    assert inside == "/etc/evertable/evertable.yaml"
    assert f"VOLUME {mounted['state']}\n" in CONTAINERFILE
    given = {"KAFKA": "broker:9092", "EVERTABLE_TOKEN": "a-token-of-some-length"}
    env = {name: given[re.fullmatch(r"\$\{(\w+):\?.*\}", text)[1]] for name, text in service["environment"].items()}  # type: ignore[index]
    env["EVERTABLE_SERVER__HOST"] = re.findall(r"EVERTABLE_SERVER__HOST=(\S+)", CONTAINERFILE)[0]
    config = load(DEPLOY / file, env)
    assert config.kafka.for_librdkafka()["bootstrap.servers"] == "broker:9092"
    assert (config.server.host, config.server.port) == ("0.0.0.0", 10000)  # noqa: S104 - all interfaces of a container
    assert config.server.token is not None
    assert service["ports"] == [f"127.0.0.1:10000:{config.server.port}"]
    assert f"EXPOSE {config.server.port}\n" in CONTAINERFILE
    assert f":{config.server.port}/healthz" in service["healthcheck"]["test"][-1]
    compile(service["healthcheck"]["test"][-1], "healthcheck", "exec")


def test_every_variable_in_these_files_is_read() -> None:
    known = set(re.findall(r"EVERTABLE_\w+", (ROOT / "docs/CONFIGURATION.md").read_text()))
    known |= {name for path in SOURCE.rglob("*.py") for name in re.findall(r"EVERTABLE_\w+", path.read_text())}
    for text in (UNIT, CONTAINERFILE, COMPOSE, PAGE):
        assert set(re.findall(r"EVERTABLE_\w+", text)) - known == set()
