"""The server's listening sockets and its TLS certificate."""

from __future__ import annotations

import errno
import os
import socket
import ssl
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from pydantic import SecretStr

from evertable.config.server import Server, Tls
from evertable.errors import ConfigError, PortInUseError

BACKLOG = 2048

_NOT_HERE = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT})


def listeners(host: str, port: int) -> list[socket.socket]:
    """Returns listening sockets on every address of ``host``, all on one port; port 0 chooses a free one."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise _unusable("host", f"{host} is not an address of this machine: {error.strerror}") from None
    sockets: list[socket.socket] = []
    missing = errno.EADDRNOTAVAIL
    with ExitStack() as opened:
        for family, address in dict.fromkeys((family, str(address[0])) for family, _, _, _, address in found):
            try:
                bound = socket.create_server((address, port), family=family, backlog=BACKLOG)
            except OSError as error:
                number = error.errno or 0
                if number == errno.EADDRINUSE:
                    step = "Stop what uses it, or choose another port"
                    step += " (server.port or EVERTABLE_SERVER__PORT; 0 takes any)."
                    raise PortInUseError(f"Port {port} is in use on {host}.", step) from None
                if number not in _NOT_HERE:
                    raise _cannot_listen("port", host, port, number) from None
                missing = number  # a name may have IPv6 addresses although IPv6 is disabled
            else:
                sockets.append(opened.enter_context(bound))
                port = bound.getsockname()[1]
        opened.pop_all()
    if not sockets:
        raise _cannot_listen("host", host, port, missing)
    return sockets


def _cannot_listen(key: str, host: str, port: int, number: int) -> ConfigError:
    return _unusable(key, f"cannot listen on {host}, port {port}: {os.strerror(number)}")


def tls_context(tls: Tls) -> ssl.SSLContext:
    """Loads the certificate; ConfigError names the file that is wrong, never its content."""
    for key, path in (("certificate", tls.certificate), ("key", tls.key)):
        try:
            Path(path).read_bytes()
        except OSError as error:
            raise _unusable(f"tls.{key}", f"{path} cannot be read: {error.strerror}") from None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    try:
        context.load_cert_chain(tls.certificate, tls.key, _password(tls.key_password))
    except (ssl.SSLError, ValueError, OSError) as error:
        reason = getattr(error, "reason", None) or "not readable"
        raise _unusable("tls", f"certificate, key and key_password do not match ({reason})") from None
    return context


def _password(secret: SecretStr | None) -> Callable[[], str]:
    # Without a callback OpenSSL would ask at the terminal.
    return lambda: "" if secret is None else secret.get_secret_value()


def _unusable(key: str, what: str) -> ConfigError:
    return ConfigError("The server does not start.", [f"server.{key}: {what}"])


def address_of(settings: Server, port: int) -> str:
    """Returns the URL for browsers and clients."""
    scheme = "http" if settings.tls is None else "https"
    host = {"0.0.0.0": "localhost", "::": "localhost"}.get(settings.host, settings.host)  # noqa: S104 - not a bind
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
