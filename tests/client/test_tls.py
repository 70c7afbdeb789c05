"""The client over https and wss with a self-signed certificate."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.certificates import Authority
from tests.client.live_server import LiveServer, StartServer

from evertable.client import Client, ServerUnreachableError


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for 127.0.0.1 with its key and its authority in one file."""
    return Authority(tmp_path_factory.mktemp("tls")).identity("here").both


@pytest.fixture
def server(start_server: StartServer, certificate: Path) -> LiveServer:
    return start_server({"tls": {"certificate": str(certificate), "key": str(certificate)}})


def test_with_the_right_certificate(server: LiveServer, certificate: Path) -> None:
    with Client(server.url, ca=certificate) as client:
        assert client.table("people").page().total == 2
        assert next(client.table("people").watch()).total == 2
        assert client.table("people").to_arrow().num_rows == 2


def test_an_untrusted_certificate(server: LiveServer) -> None:
    """Requests and watches fail immediately, with the next step."""
    with Client(server.url) as client:
        for ask in (client.tables, lambda: next(client.table("people").watch())):
            with pytest.raises(ServerUnreachableError, match=r"certificate .* is not trusted: self-signed .* \(ca\)"):
                ask()
