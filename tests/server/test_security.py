"""Access rules, without a server."""

from __future__ import annotations

from base64 import urlsafe_b64encode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr
from tests.server.stubs import TOKEN

from evertable.server.security import AccessRules, RequestHead

WITH_TOKEN = AccessRules(SecretStr(TOKEN))
WITHOUT = AccessRules()


def request_head(
    path: str = "/api/tables", *, method: str = "GET", websocket: bool = False, **headers: str
) -> RequestHead:
    """Makes a request; header names are written with ``_``, and Host has a default."""
    pairs = {"host": "localhost:10000", **headers}
    encoded = [(name.replace("_", "-").encode(), value.encode("latin-1")) for name, value in pairs.items()]
    return RequestHead(path, encoded, method, websocket)


def verdict(rules: AccessRules, request: RequestHead) -> tuple[int, str]:
    refusal = rules.refusal(request)
    return (200, "") if refusal is None else (refusal.status, refusal.condition)


def browser_token(token: str) -> str:
    return "bearer." + urlsafe_b64encode(token.encode()).rstrip(b"=").decode()


MISSING, WRONG, FINE = (401, "TOKEN_MISSING"), (401, "TOKEN_WRONG"), (200, "")


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (f"Bearer {TOKEN}", FINE),
        (f"bearer {TOKEN}", FINE),
        (f"BEARER   {TOKEN} ", FINE),
        ("", MISSING),
        (TOKEN, MISSING),
        (f"Basic {TOKEN}", MISSING),
        ("Bearer", MISSING),
        ("Bearer ", WRONG),
        ("Bearer x", WRONG),
        (f"Bearer {TOKEN}x", WRONG),
        (f"Bearer {TOKEN[:-1]}", WRONG),
        (f"Bearer {TOKEN.upper()}", WRONG),
        (f"Bearer {TOKEN}, Bearer {TOKEN}", WRONG),
        ("Bearer \xff\xfe\x00", WRONG),
        ("Bearer " + "x" * 100_000, WRONG),
    ],
)
def test_tokens(header: str, expected: tuple[int, str]) -> None:
    """Only the exact token is accepted."""
    assert expected == verdict(WITH_TOKEN, request_head(authorization=header))
    assert expected == verdict(
        WITH_TOKEN, request_head("/ws", websocket=True, authorization=header, sec_websocket_protocol="evertable.v1")
    )


def test_no_token_at_all() -> None:
    """Tokens in addresses and cookies are ignored; the refusal explains how to send one."""
    refusal = WITH_TOKEN.refusal(request_head(f"/api/tables?token={TOKEN}", cookie=f"token={TOKEN}"))
    assert refusal is not None
    assert (refusal.condition, refusal.headers) == ("TOKEN_MISSING", {"WWW-Authenticate": "Bearer"})


def test_two_tokens_are_refused() -> None:
    """They would be two guesses in one request."""
    twice = [(b"authorization", b"Bearer x"), (b"authorization", f"Bearer {TOKEN}".encode())]
    assert verdict(WITH_TOKEN, RequestHead("/api/tables", twice)) == WRONG


@pytest.mark.parametrize(
    ("offered", "expected"),
    [
        (f"evertable.v1, {browser_token(TOKEN)}", FINE),
        (f"{browser_token(TOKEN)},evertable.v1", FINE),
        (f"evertable.v1, {browser_token(TOKEN)}==", FINE),
        ("evertable.v1", MISSING),
        ("evertable.v1, bearer.", WRONG),
        ("evertable.v1, bearer.!!!", WRONG),
        (f"evertable.v1, bearer.{TOKEN}", WRONG),
        (f"evertable.v1, {browser_token(TOKEN + 'x')}", WRONG),
        (f"evertable.v1, bearer.x, {browser_token(TOKEN)}", WRONG),
        (browser_token(TOKEN), (400, "SUBPROTOCOL_MISSING")),
        (f"evertable.v2, {browser_token(TOKEN)}", (400, "SUBPROTOCOL_MISSING")),
    ],
)
def test_tokens_of_browsers(offered: str, expected: tuple[int, str]) -> None:
    """A WebSocket may offer it as a subprotocol; other requests may not."""
    assert expected == verdict(WITH_TOKEN, request_head("/ws", websocket=True, sec_websocket_protocol=offered))
    assert verdict(WITH_TOKEN, request_head(sec_websocket_protocol=offered)) == MISSING


@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=1), st.text(max_size=50))
def test_any_token(token: str, guess: str) -> None:
    """Any visible characters are possible; nothing else is accepted."""
    rules = AccessRules(SecretStr(token))
    assert verdict(rules, request_head(authorization=f"Bearer {token}")) == FINE
    offered = f"evertable.v1, {browser_token(token)}"
    assert verdict(rules, request_head("/ws", websocket=True, sec_websocket_protocol=offered)) == FINE
    if guess.strip(" ") != token:
        header = f"Bearer {guess}".encode()
        assert verdict(rules, RequestHead("/api/tables", [(b"authorization", header)])) == WRONG


def test_what_is_open() -> None:
    """Health checks and explicitly opened paths need no token; similar paths do."""
    rules = AccessRules(SecretStr(TOKEN), public=("/", "/assets/x.css", "/app.js"))
    for path in ("/healthz", "/readyz", "/", "/assets/x.css", "/app.js"):
        assert verdict(rules, request_head(path)) == FINE
        assert verdict(rules, request_head(path, method="HEAD")) == FINE
        assert verdict(rules, request_head(path, method="POST")) == MISSING
        assert verdict(rules, request_head(path, websocket=True)) == MISSING
    for path in ("/healthz/", "/healthz/../api/status", "/metrics", "/assets/", "/app.jsx", "//", "/api/", ""):
        assert verdict(rules, request_head(path)) == MISSING


HOSTS = [
    ("localhost", True),
    ("localhost:10000", True),
    ("LocalHost:1", True),
    ("localhost.:1", True),
    ("127.0.0.1", True),
    ("127.1.2.3:80", True),
    ("[::1]:10000", True),
    ("[::1]", True),
    ("", False),
    ("evil.example", False),
    ("evil.example:10000", False),
    ("localhost.evil.example", False),
    ("127.0.0.1.evil.example", False),
    ("0.0.0.0:10000", False),
    ("[::]:10000", False),
    ("::1", False),
    ("localhost:x", False),
    ("localhost:10000:1", False),
    ("evil.example@localhost", False),
    ("localhost/evil", False),
    ("localhost evil", False),
    ("192.168.1.1", False),
    ("2130706433", False),
]


@pytest.mark.parametrize(("host", "fine"), HOSTS)
def test_hosts_without_a_token(host: str, fine: bool) -> None:
    """Only loopback names are allowed, because of DNS rebinding; with a token any name is."""
    for request in (
        request_head(host=host),
        request_head("/healthz", host=host),
        request_head(method="POST", host=host),
    ):
        assert verdict(WITHOUT, request) == (FINE if fine else (403, "HOST_NOT_ALLOWED"))
    assert verdict(WITH_TOKEN, request_head(host=host, authorization=f"Bearer {TOKEN}")) == FINE


def test_no_host_or_two() -> None:
    """They are refused like a host that is not allowed."""
    assert verdict(WITHOUT, RequestHead("/api/tables")) == (403, "HOST_NOT_ALLOWED")
    twice = [(b"host", b"localhost"), (b"host", b"localhost")]
    assert verdict(WITHOUT, RequestHead("/api/tables", twice)) == (403, "HOST_NOT_ALLOWED")


ORIGINS = [
    ("http://localhost:10000", True),
    ("HTTP://LOCALHOST:10000", True),
    ("https://localhost:10000", True),  # a proxy in front may do TLS
    ("https://dash.example.com", True),
    ("http://localhost:4200", True),
    ("", False),
    ("null", False),
    ("http://localhost", False),
    ("http://localhost:10001", False),
    ("http://127.0.0.1:10000", False),
    ("http://dash.example.com", False),
    ("https://dash.example.com:444", False),
    ("https://dash.example.com.evil.example", False),
    ("https://evil.example", False),
    ("http://evil.example:10000", False),
    ("http://localhost:10000.evil.example", False),
    ("http://localhost:10000@evil.example", False),
    ("file://", False),
    ("*", False),
]


@pytest.mark.parametrize(("origin", "fine"), ORIGINS)
def test_origins(origin: str, fine: bool) -> None:
    """The server's own origin and listed ones are allowed, for every kind of request."""
    rules = AccessRules(None, ("https://dash.example.com", "http://localhost:4200"))
    expected = FINE if fine else (403, "ORIGIN_NOT_ALLOWED")
    socket = request_head("/ws", websocket=True, sec_websocket_protocol="evertable.v1", origin=origin)
    for request in (request_head(origin=origin), request_head(method="POST", origin=origin), socket):
        assert expected == verdict(rules, request)


def test_with_tls_an_own_page_has_an_https_origin() -> None:
    """If the server uses TLS, http origins are not its own; default ports may be omitted."""
    for host, origin, fine in [
        ("a.example", "https://a.example", True),
        ("a.example:443", "https://a.example", True),
        ("a.example", "https://a.example:443", True),
        ("a.example", "http://a.example", False),
        ("a.example:443", "http://a.example:443", False),
    ]:
        headers = [
            (b"host", host.encode()),
            (b"origin", origin.encode()),
            (b"authorization", b"Bearer " + TOKEN.encode()),
        ]
        request = RequestHead("/api/status", headers, secure=True)
        assert verdict(WITH_TOKEN, request) == (FINE if fine else (403, "ORIGIN_NOT_ALLOWED"))


@pytest.mark.parametrize(
    ("site", "fine"), [("same-origin", True), ("none", True), ("same-site", False), ("cross-site", False)]
)
def test_posts_of_browsers_that_name_no_origin(site: str, fine: bool) -> None:
    """Sec-Fetch-Site decides; programs do not send it and are accepted."""
    assert verdict(WITHOUT, request_head(method="POST", sec_fetch_site=site)) == (
        FINE if fine else (403, "ORIGIN_NOT_ALLOWED")
    )
    assert verdict(WITHOUT, request_head(method="POST")) == FINE


@pytest.mark.parametrize("rules", [WITHOUT, AccessRules(origins=("https://dash.example.com",))])
@pytest.mark.parametrize("path", ["/api/tables", "/api/tables/users_ui.csv", "/api/status", "/metrics", "/ws", "/nope"])
@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_gets_of_other_sites_reach_no_data(rules: AccessRules, path: str, site: str) -> None:
    """Links, images and scripts send no Origin; only Sec-Fetch-Site identifies them."""
    refused = (403, "ORIGIN_NOT_ALLOWED")
    assert verdict(rules, request_head(path, sec_fetch_site=site)) == refused
    assert verdict(rules, request_head(path, sec_fetch_site=site, sec_fetch_mode="navigate")) == refused
    assert verdict(rules, request_head(path, method="HEAD", sec_fetch_site=site)) == refused
    assert verdict(rules, request_head(path, sec_fetch_site=site, referer="https://evil.example/")) == refused
    assert verdict(rules, request_head(path, sec_fetch_site=site, referer="https://[")) == refused
    assert verdict(rules, request_head(path, sec_fetch_site=f"none, {site}")) == refused


def test_gets_of_the_own_page_and_of_programs() -> None:
    """Requests come from the page itself, from the address bar, or from a program."""
    assert verdict(WITHOUT, request_head()) == FINE
    for site in ("same-origin", "none"):
        assert verdict(WITHOUT, request_head(sec_fetch_site=site)) == FINE


def test_other_sites_may_link_to_the_page() -> None:
    """It holds no data, nor do health checks."""
    rules = AccessRules(public=("/", "/main.js"))
    for path in ("/", "/main.js", "/healthz", "/readyz"):
        assert verdict(rules, request_head(path, sec_fetch_site="cross-site")) == FINE
    assert verdict(rules, request_head("/", method="POST", sec_fetch_site="cross-site")) == (403, "ORIGIN_NOT_ALLOWED")


def test_listed_pages_may_link_to_data() -> None:
    """A link from a listed origin is accepted; a POST needs more."""
    rules = AccessRules(origins=("https://dash.example.com",))
    page = "https://dash.example.com/reports"
    assert verdict(rules, request_head("/api/tables/users_ui.csv", sec_fetch_site="cross-site", referer=page)) == FINE
    posted = request_head("/api/rollback", method="POST", sec_fetch_site="cross-site", referer=page)
    assert verdict(rules, posted) == (403, "ORIGIN_NOT_ALLOWED")


def test_a_preflight_shows_no_token() -> None:
    """The request after it must."""
    rules = AccessRules(SecretStr(TOKEN), ("https://dash.example.com",))

    def preflight(origin: str) -> RequestHead:
        return request_head(method="OPTIONS", origin=origin, access_control_request_method="GET")

    assert verdict(rules, preflight("https://dash.example.com")) == FINE
    assert verdict(rules, preflight("https://evil.example")) == (403, "ORIGIN_NOT_ALLOWED")
    assert verdict(rules, request_head(method="OPTIONS")) == MISSING
    assert verdict(rules, request_head(origin="https://dash.example.com")) == MISSING
