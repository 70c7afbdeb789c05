"""The sections ``server`` and ``tables``."""

from __future__ import annotations

import pytest
from tests.config.conftest import Load, Problems

from evertable.config.server import is_loopback, origin


def test_names_of_tables(load_text: Load, minimal: str) -> None:
    """Names that are not given, or null, have defaults; any printable name that fits into an address is fine."""
    config = load_text(minimal + "tables: {joined: 'Käufer & Konten (neu)', users: user, accounts: ~}\n")
    assert config.tables == {"users": "user", "accounts": "accounts_ui", "joined": "Käufer & Konten (neu)"}
    config = load_text(minimal + "join: {left: accounts}\ntables: {users: accounts_ui, accounts: users_ui}\n")
    assert (config.table_of(config.left), config.table_of(config.right)) == ("users_ui", "accounts_ui")


def test_a_name_for_a_source_that_is_not_joined(load_text: Load, minimal: str) -> None:
    """It has no effect, which is a warning."""
    third = "  orders: {topic: o, key: id, columns: {id: long}}\n"
    config = load_text(minimal + third + "tables: {orders: orders_ui}\n")
    assert "tables.orders: has no effect: the source is not part of the join" in config.warnings


SERVER = [
    ("host: 0.0.0.0", "server.host: 0.0.0.0 needs a token, or anyone who can connect could read; set EVERTABLE_TOKEN"),
    ("host: '::'", "server.host: :: needs a token"),
    ("host: my-machine", "server.host: my-machine needs a token"),
    ("host: http://localhost", "server.host: 'http://localhost' is not a host"),
    ("host: localhost:80", "server.host: 'localhost:80' is not a host"),
    ("host: ''", "server.host: '' is not a host"),
    ("port: 65536", "server.port: '65536' is too large; the most is 65535"),
    ("port: -1", "server.port: '-1' is too small; the least is 0"),
    ("port: http", "server.port: 'http' is not a whole number"),
    ("token: ''", "server.token: must be visible ASCII characters"),
    ("token: two words", "server.token: must be visible ASCII characters"),
    ("token: schlüssel", "server.token: must be visible ASCII characters"),
    ("token: [a]", "server.token: must be one text"),
    ("origins: ['*']", "server.origins.0: '*' would let every web page in; list the pages' origins"),
    ("origins: '*'", "server.origins.0: '*' would let every web page in"),
    (
        "origins: [https://a.example, b.example]",
        "server.origins.1: 'b.example' is not an origin; write scheme://host or",
    ),
    ("origins: [https://a.example/x]", "server.origins.0: 'https://a.example/x' is not an origin"),
    ("origins: [ftp://a.example]", "server.origins.0: 'ftp://a.example' is not an origin"),
    ("origins: [https://u:p@a.example]", "server.origins.0: 'https://u:p@a.example' is not an origin"),
    ("origins: [https://a.example:x]", "server.origins.0: 'https://a.example:x' is not an origin"),
    ("origins: [https://]", "server.origins.0: 'https://' is not an origin"),
    ("origins: {a: b}", "server.origins: must be a list"),
    ("tick_ms: 0", "server.tick_ms: '0' is too small; the least is 1"),
    ("max_page: 0", "server.max_page: '0' is too small"),
    ("max_sockets: many", "server.max_sockets: 'many' is not a whole number"),
    ("max_queries: many", "server.max_queries: 'many' is not a whole number"),
    ("max_memory_mb: 0", "server.max_memory_mb: '0' is too small"),
    ("tls: {certificate: c.pem}", "server.tls.key: is missing"),
    ("tls: yes", "server.tls: must be a mapping (name: value)"),
    (
        "tls: {certificat: c.pem, key: k, certificate: c}",
        "server.tls.certificat: is unknown; did you mean 'certificate'?",
    ),
    ("tokens: x", "server.tokens: is unknown; did you mean 'token'?"),
]


@pytest.mark.parametrize(("written", "problem"), SERVER)
def test_problems_of_the_server(problems: Problems, minimal: str, written: str, problem: str) -> None:
    """One thing wrong is one problem, with its path."""
    found = problems(f"{minimal}server: {{{written}}}\n")
    assert [one.startswith(problem) for one in found] == [True], found


TABLES = [
    ("joined: ''", "tables.joined: is empty"),
    ("joined: a/b", "tables.joined: 'a/b' cannot name a table: no '/'"),
    ("joined: .hidden", "tables.joined: '.hidden' cannot name a table"),
    ('joined: "a\\u0007b"', "tables.joined: 'a�b' cannot name a table"),
    ("joined: ' a'", "tables.joined: ' a' cannot name a table"),
    ("joined: all.csv", "tables.joined: 'all.csv' would be taken for an export"),
    ("joined: all.ARROW", "tables.joined: 'all.ARROW' would be taken for an export"),
    (f"joined: {'x' * 201}", "tables.joined: a table's name has at most 200 characters, not 201"),
    ("joined: dead_letters", "tables.joined: 'dead_letters' is one of the operators' tables"),
    ("joined: [a]", "tables.joined: must be one text"),
    ("joined: users_ui", "tables.joined: 'users_ui' is also the name of the table of users"),
    ("users: x, accounts: x", "tables.accounts: 'x' is also the name of the table of users"),
    ("user: x", "tables.user: is not a source; did you mean 'users'?"),
    ("final: x", "tables.final: is not a source; known are users, accounts, joined"),
]


@pytest.mark.parametrize(("written", "problem"), TABLES)
def test_problems_of_tables(problems: Problems, minimal: str, written: str, problem: str) -> None:
    """Names that would clash, with each other or in an address."""
    found = problems(f"{minimal}tables: {{{written}}}\n")
    assert [one.startswith(problem) for one in found] == [True], found


def test_more_problems_of_tables(problems: Problems, minimal: str) -> None:
    """All are reported at once."""
    found = problems(f"{minimal}tables: {{users: a/b, accounts: generations, nobody: x}}\nserver: {{port: x}}\n")
    assert sorted(one.split(":")[0] for one in found) == [
        "server.port",
        "tables.accounts",
        "tables.nobody",
        "tables.users",
    ]
    assert problems(minimal + "tables: [a]\n") == ("tables: must be a mapping (name: value) (line 5)",)
    (found_one,) = problems(minimal.replace("users:", "joined:", 1))
    assert found_one.startswith("sources.joined: is the name of the joined table in tables; choose another name")


def test_a_host_for_everybody_with_a_token(load_text: Load, minimal: str) -> None:
    """It is valid, wherever the token comes from; a short one causes a warning without the token."""
    config = load_text(minimal + "server: {host: 0.0.0.0}\n", {"EVERTABLE_TOKEN": "a-token-that-nobody-guesses"})
    assert (config.server.host, config.warnings) == ("0.0.0.0", ())  # noqa: S104
    config = load_text(minimal + "server: {host: '::', token: short}\n")
    assert config.warnings == ("server.token: is short enough to be guessed; use 16 characters or more",)


def test_certificates_are_relative_to_the_file(load_text: Load, minimal: str) -> None:
    """Like every path of the configuration."""
    config = load_text(minimal + "server: {tls: {certificate: tls/c.pem, key: /k.pem}}\n")
    assert config.path is not None
    assert config.server.tls is not None
    assert config.server.tls.certificate == str(config.path.parent / "tls" / "c.pem")
    assert (config.server.tls.key, config.server.tls.key_password) == ("/k.pem", None)


@pytest.mark.parametrize(
    ("host", "loopback"),
    [
        ("localhost", True),
        ("LOCALHOST", True),
        ("127.0.0.1", True),
        ("127.255.255.254", True),
        ("::1", True),
        ("0.0.0.0", False),  # noqa: S104
        ("::", False),
        ("10.0.0.1", False),
        ("localhost.example", False),
        ("", False),
    ],
)
def test_loopback(host: str, loopback: bool) -> None:
    """Names other than localhost are not resolved."""
    assert is_loopback(host) == loopback


def test_origins_as_browsers_send_them() -> None:
    """Lower case, without a default port or a last slash."""
    for written, sent in [
        ("https://Dash.Example.com/", "https://dash.example.com"),
        ("https://a.example:443", "https://a.example"),
        ("http://a.example:443", "http://a.example:443"),
        ("http://[::1]:80", "http://[::1]"),
        ("http://[::1]:8080", "http://[::1]:8080"),
    ]:
        assert sent == origin(written)
