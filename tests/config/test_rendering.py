"""The effective configuration as text."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.config.conftest import Load

from evertable.config import Config, effective

EVERYTHING = """
app: shop
kafka: {bootstrap.servers: ["a:1", "b:2"], group.id: g, auto.offset.reset: latest, sasl: {password: hunter2}}
sources:
  "on": {topic: t, key: "no", columns: {"no": "decimal(5, 2)", ts: {from: kafka.timestamp}}}
  b: {topic: t, key: k, columns: {k: {type: "decimal(5,2)"}}, start: "2026-01-31T10:00:00+01:00", kafka: {client.id: x}}
engine: {trigger: MicroBatch, spark: {spark.x: "$${HOME}"}}
tables: {joined: pairs}
server:
  host: "[::1]"
  token: correct-horse-battery
  origins: [https://Dash.example.com:443/, "${HOME_TOKEN:-http://x}"]
  tls: {certificate: /etc/c.pem, key: /etc/k.pem, key_password: hunter3}
"""


def test_what_is_shown(load_text: Load) -> None:
    """Defaults, canonical spellings and derived values; nothing without effect; masked secrets."""
    expected = """\
app: shop
kafka:
  bootstrap.servers: a:1,b:2
  sasl.password: '********'
control:
  enabled: true
  topic: evertable.shop.control
sources:
  'on':
    topic: t
    columns:
      'no': decimal(5,2)
      ts:
        from: kafka.timestamp
    key: 'no'
    start: latest
    max_ahead_s: 86400
    kafka: {}
  b:
    topic: t
    columns:
      k: decimal(5,2)
    key: k
    start: '2026-01-31T09:00:00Z'
    max_ahead_s: 86400
    kafka:
      client.id: x
join:
  type: left
  max_matches: 1000000
  left: 'on'
  right: b
tables:
  'on': on_ui
  b: b_ui
  joined: pairs
swap:
  mode: warm
  timeout_s: 120
  linger_s: 8
  max_lingering: 2
  guard: true
engine:
  master: local[*]
  trigger: microbatch
  readers: 1
  interval_s: 0
  checkpoint_dir: null
  spark:
    spark.x: $${HOME}
  environment: []
changelog:
  prefix: evertable
  partitions: 1
  replication: 1
  kafka: null
server:
  host: ::1
  port: 10000
  token: '********'
  origins:
  - https://dash.example.com
  - '********'
  tick_ms: 10
  max_page: 10000
  max_subscriptions: 64
  max_sockets: 5000
  max_queries: 300
  max_views: 1000
  query_timeout_s: 10.0
  max_memory_mb: null
  tls:
    certificate: /etc/c.pem
    key: /etc/k.pem
    key_password: '********'
logging:
  level: info
  format: console
"""
    assert expected == effective(load_text(EVERYTHING))


def test_what_is_shown_can_be_loaded(load_text: Load) -> None:
    """It has the same meaning, apart from the masks."""
    once = effective(load_text(EVERYTHING)).replace("  - '********'\n", "")
    assert once == effective(load_text(once))


texts = st.text(st.characters(exclude_categories=["Cs"]))
names = texts.filter(lambda name: name.strip() != "" and name.isprintable())
plain = texts.filter(lambda text: "@" not in text and "password" not in text.lower() and "KEY" not in text)


@given(
    column=names.filter(lambda name: name != "k"),
    client=plain,
    master=texts.filter(bool),
    settings=st.dictionaries(st.sampled_from(["spark.a", "spark.b"]), plain),
)
def test_any_value_survives(load_text: Load, column: str, client: str, master: str, settings: dict[str, str]) -> None:
    """Loading the shown text returns the same configuration."""
    columns = {"k": "long", column: "string"}
    raw: dict[str, Any] = {
        "kafka": {"bootstrap.servers": "a:1", "client.id": client},
        "sources": {name: {"topic": name, "key": "k", "columns": columns} for name in ("a", "b")},
        "engine": {"master": master, "spark": settings},
    }
    config = Config.model_validate(raw)
    again = load_text(effective(config))
    assert [getattr(config, name) for name in Config.model_fields] == [
        getattr(again, name) for name in Config.model_fields
    ]
