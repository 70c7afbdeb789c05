"""Start and stop: ports, TLS, threads, event loops and open connections."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import signal
import socket
import subprocess
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from starlette.websockets import WebSocket
from tests.live.samples import settings
from tests.server.conftest import Serve
from tests.server.stubs import greeting
from tests.server.trusting import trusting
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from evertable.config.server import Tls
from evertable.errors import ConfigError, PortInUseError
from evertable.live.hub import Hub
from evertable.server.app import App
from evertable.server.listen import tls_context
from evertable.server.run import serving
from evertable.tables.catalog import Catalog

PROTOCOL = [Subprotocol("evertable.v1")]


def ok(url: str, **options: object) -> bool:
    return httpx.get(f"{url}/healthz", **options).status_code == 200  # type: ignore[arg-type]


def test_in_the_owners_loop(catalog: Catalog) -> None:
    """It shares the loop with other tasks, and leaves the owner's signal handlers alone."""

    def handlers() -> list[object]:
        return [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]

    async def owner() -> str:
        chosen, before = settings(), handlers()
        async with serving(App(catalog, chosen), chosen) as url, httpx.AsyncClient() as client:
            assert (await client.get(f"{url}/healthz")).status_code == 200
            assert before == handlers()
            return url

    url = asyncio.run(owner())
    with pytest.raises(httpx.ConnectError):
        ok(url)


def test_in_a_thread(serve: Serve, catalog: Catalog) -> None:
    """The port is known after the start, and free after the end, when the thread has ended."""
    server = serve(catalog)
    assert server.url == f"http://127.0.0.1:{server.port}"
    assert ok(server.url)
    port = server.port
    server.stop()
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(("127.0.0.1", port))
    assert [thread for thread in threading.enumerate() if thread.name.startswith("evertable")] == []


def test_a_port_in_use(serve: Serve, catalog: Catalog) -> None:
    """The error names the port; its user is not disturbed."""
    first = serve(catalog)
    with pytest.raises(PortInUseError, match=rf"\[PORT_IN_USE\] Port {first.port} is in use on 127\.0\.0\.1\."):
        serve(catalog, {"port": first.port})
    assert ok(first.url)


def test_addresses_that_cannot_be_listened_on(serve: Serve, catalog: Catalog) -> None:
    """They are problems of the configuration, with their key."""
    for host, problem in [
        ("192.0.2.1", "server.host: cannot listen on 192.0.2.1"),
        ("nowhere.invalid", "server.host: nowhere.invalid is not an address of this machine"),
    ]:
        with pytest.raises(ConfigError) as refused:
            serve(catalog, {"host": host, "token": "correct-horse-battery"})
        assert refused.value.problems[0].startswith(problem)


def test_localhost_is_every_loopback_address(serve: Serve, catalog: Catalog) -> None:
    """IPv4 and IPv6, on one port."""
    server = serve(catalog, {"host": "localhost"})
    assert server.url == f"http://localhost:{server.port}"
    assert ok(server.url)
    assert ok(f"http://127.0.0.1:{server.port}")


async def stubborn(websocket: WebSocket) -> None:
    """Sends endlessly to a viewer that does not read."""
    await websocket.accept("evertable.v1")
    while True:
        await websocket.send_text("x" * 1_000_000)


def test_open_sockets_get_a_close_code(serve: Serve, catalog: Catalog) -> None:
    """1012: the server stops or restarts."""
    server = serve(catalog, websocket=greeting)
    with connect(server.url.replace("http", "ws") + "/ws", subprotocols=PROTOCOL) as viewer:
        assert viewer.recv() == "hello"
        server.stop()
        with pytest.raises(ConnectionClosed) as closed:
            viewer.recv()
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1012


def test_it_stops_although_a_viewer_does_not_read(serve: Serve, catalog: Catalog) -> None:
    server = serve(catalog, websocket=stubborn)
    with socket.create_connection(("127.0.0.1", server.port)) as stalled:
        head = "GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
        stalled.sendall(f"{head}{key}Sec-WebSocket-Protocol: evertable.v1\r\n\r\n".encode())
        assert stalled.recv(12) == b"HTTP/1.1 101"
        assert ok(server.url)
        server.stop()


def test_the_lifespan_of_the_application(serve: Serve, catalog: Catalog, monkeypatch: pytest.MonkeyPatch) -> None:
    """It begins before the first request and ends with the server."""
    seen: list[str] = []

    @contextlib.asynccontextmanager
    async def running(_hub: Hub) -> AsyncIterator[None]:
        seen.append("begin")
        yield
        seen.append("end")

    monkeypatch.setattr(Hub, "running", running)
    server = serve(catalog)
    assert seen == ["begin"]
    server.stop()
    assert seen == ["begin", "end"]


def test_a_lifespan_that_fails(
    serve: Serve, catalog: Catalog, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server does not start, the log has the reason, and the port is free again."""
    seen: list[str] = []

    @contextlib.asynccontextmanager
    async def running(_hub: Hub) -> AsyncIterator[None]:
        if not seen:
            raise ValueError("no hub today")
        yield

    monkeypatch.setattr(Hub, "running", running)
    with pytest.raises(RuntimeError, match="see the log"):
        serve(catalog)
    assert "no hub today" in caplog.text


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Makes a self-signed certificate for localhost, and its encrypted key."""
    folder = tmp_path_factory.mktemp("tls")
    made, key = str(folder / "cert.pem"), str(folder / "key.pem")
    names = ["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    subject = ["-subj", "/CN=localhost", "-days", "2", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    command = ["openssl", "req", "-x509", *subject, *names, "-passout", "pass:hunter2", "-keyout", key, "-out", made]
    subprocess.run(command, check=True, capture_output=True)
    return Path(made), Path(key)


def test_tls(serve: Serve, catalog: Catalog, certificate: tuple[Path, Path]) -> None:
    """https and wss with the configured certificate; HSTS is sent except to localhost."""
    made, key = certificate
    tls = {"certificate": str(made), "key": str(key), "key_password": "hunter2"}
    server = serve(catalog, {"tls": tls}, websocket=greeting)
    trusted = trusting(made)
    assert server.url.startswith("https://")
    answer = httpx.get(f"{server.url}/api/tables", verify=trusted)
    assert (answer.status_code, "strict-transport-security" in answer.headers) == (200, False)
    answer = httpx.get(f"{server.url}/api/tables", verify=trusted, headers={"Host": "dash.example.com"})
    assert (answer.status_code, answer.headers["strict-transport-security"]) == (403, "max-age=31536000")
    with connect(server.url.replace("https", "wss") + "/ws", subprotocols=PROTOCOL, ssl=trusted) as viewer:
        assert viewer.recv() == "hello"
    with pytest.raises(httpx.HTTPError):
        ok(server.url)  # other clients do not trust it
    with pytest.raises(httpx.HTTPError):
        ok(server.url.replace("https", "http"))


def test_junk_on_a_port_with_tls_is_not_logged(
    serve: Serve, catalog: Catalog, certificate: tuple[Path, Path], caplog: pytest.LogCaptureFixture
) -> None:
    """Plain HTTP, garbage, half a handshake: the connection ends without a log line."""
    made, key = certificate
    server = serve(catalog, {"tls": {"certificate": str(made), "key": str(key), "key_password": "hunter2"}})
    for sent in (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", b"\0" * 100, b"\x16\x03\x01\x02\x00\x01"):
        with socket.create_connection(("127.0.0.1", server.port), timeout=30) as stranger:
            stranger.sendall(sent)
            stranger.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionResetError):
                while stranger.recv(1000):
                    pass
    server.stop()
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []


def test_certificates_that_do_not_fit(certificate: tuple[Path, Path], tmp_path: Path) -> None:
    """The problem names the key of the configuration, but no secret."""
    made, key = map(str, certificate)
    nonsense = tmp_path / "nonsense.pem"
    nonsense.write_text("hunter3")
    for tls, problem in [
        (Tls(certificate="/nowhere/c.pem", key=key), "server.tls.certificate: /nowhere/c.pem cannot be read: No such"),
        (Tls(certificate=made, key="/nowhere/k.pem"), "server.tls.key: /nowhere/k.pem cannot be read: No such file"),
        (Tls(certificate=made, key=key), "server.tls: certificate, key and key_password do not match"),
        (Tls.model_validate({"certificate": made, "key": key, "key_password": "wrong-one"}), "server.tls: cert"),
        (Tls(certificate=made, key=str(nonsense)), "server.tls: certificate, key and key_password do not match"),
        (Tls(certificate=str(nonsense), key=key), "server.tls: certificate, key and key_password do not match"),
    ]:
        with pytest.raises(ConfigError) as refused:
            tls_context(tls)
        assert refused.value.problems[0].startswith(problem)
        assert not any(secret in str(refused.value) for secret in ("wrong-one", "hunter"))
