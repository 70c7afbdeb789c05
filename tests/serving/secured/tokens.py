"""A small identity provider over TLS: tokens for client credentials, and a file of the keys that sign them."""

from __future__ import annotations

import base64
import json
import ssl
import subprocess
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

from tests.certificates import Identity, run

ISSUER = "https://issuer.example"
AUDIENCE = "kafka"
KEY_ID = "one"


class TokenEndpoint:
    """Issues a token to each client that knows its secret, counts them, and can be stopped for a while."""

    def __init__(self, folder: Path, identity: Identity, clients: dict[str, str], life_s: int) -> None:
        self.clients = clients
        self.life_s = life_s
        self.issued: dict[str, int] = {}
        """How many tokens, by the program that requested them (``User-Agent``)."""
        self._identity = identity
        self._key = folder / "tokens.key"
        run("genpkey", "-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048", "-out", self._key)
        modulus = run("rsa", "-in", self._key, "-noout", "-modulus").decode().strip().partition("=")[2]
        key = {"kty": "RSA", "use": "sig", "alg": "RS256", "kid": KEY_ID, "n": encoded(bytes.fromhex(modulus))}
        self.keys = folder / "keys.json"
        self.keys.write_text(json.dumps({"keys": [{**key, "e": encoded(b"\x01\x00\x01")}]}))
        self._server: ThreadingHTTPServer | None = None
        self.port = 0
        self.open()

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}/token"

    def open(self) -> None:
        """Starts to answer."""
        if self._server is not None:
            return
        server = self._server = ThreadingHTTPServer(("127.0.0.1", self.port), self._handler())
        server.daemon_threads = True
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self._identity.both)
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        self.port = server.server_address[1]
        threading.Thread(target=server.serve_forever, args=(0.05,), name="test-tokens", daemon=True).start()

    def close(self) -> None:
        """Stops to answer."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    @contextmanager
    def closed(self) -> Iterator[None]:
        """Stops the endpoint for the block."""
        self.close()
        try:
            yield
        finally:
            self.open()

    def token(self, client: str) -> str:
        now = int(time.time())
        claims = {"sub": client, "iss": ISSUER, "aud": AUDIENCE, "iat": now, "exp": now + self.life_s}
        head = {"alg": "RS256", "typ": "JWT", "kid": KEY_ID}
        parts = [encoded(json.dumps(part).encode()) for part in (head, {**claims, "jti": uuid.uuid4().hex})]
        signing = ["openssl", "dgst", "-sha256", "-sign", str(self._key)]
        signed = subprocess.run(signing, input=".".join(parts).encode(), check=True, capture_output=True).stdout
        return ".".join([*parts, encoded(signed)])

    def answer(self, authorization: str, agent: str, form: dict[str, str]) -> tuple[int, dict[str, Any]]:
        """Answers one request: a token, or the reason of a refusal."""
        client, _, secret = base64.b64decode(authorization.removeprefix("Basic ")).decode().partition(":")
        if form.get("grant_type") != "client_credentials" or self.clients.get(client) != secret:
            return 401, {"error": "invalid_client", "error_description": "no such client, or another secret"}
        self.issued[agent] = self.issued.get(agent, 0) + 1
        return 200, {"access_token": self.token(client), "token_type": "Bearer", "expires_in": self.life_s}

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
                given, agent = (self.headers.get(name, "") for name in ("Authorization", "User-Agent"))
                self._respond(*endpoint.answer(given, agent, {name: values[0] for name, values in form.items()}))

            def _respond(self, code: int, body: dict[str, Any]) -> None:
                text = json.dumps(body).encode()
                self.send_response(code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
                """Logs nothing."""

        return Handler


def encoded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
