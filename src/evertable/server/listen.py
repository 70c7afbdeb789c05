"""The server's listening sockets and its TLS certificate."""

from __future__ import annotations

import errno
import socket
import ssl
from collections.abc import Callable, Sequence
from pathlib import Path

from pydantic import SecretStr

from evertable.config.server import Server, Tls
from evertable.errors import ConfigError, PortInUseError

BACKLOG = 2048
_ATTEMPTS = 20  # to find a port that is free on all addresses of a name

_NOT_HERE = frozenset({errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT})


def listeners(host: str, port: int) -> list[socket.socket]:
    """Returns listening sockets on every address of ``host``, all on one port; port 0 chooses a free one."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise _unusable("host", f"{host} is not an address of this machine: {error.strerror}") from None
    addresses = list(dict.fromkeys((family, address[0]) for family, _, _, _, address in found))
    for attempt in range(_ATTEMPTS):
        try:
            return _bound(addresses, host, port)
        except PortInUseError:
            if port != 0 or attempt == _ATTEMPTS - 1:
                raise
    raise AssertionError("unreachable")


def _bound(addresses: Sequence[tuple[int, str | int]], host: str, port: int) -> list[socket.socket]:
    sockets: list[socket.socket] = []
    missing: OSError | None = None
    try:
        for family, address in addresses:
            try:
                sockets.append(_listening(family, str(address), port))
            except OSError as error:
                if error.errno not in _NOT_HERE:  # a name may have IPv6 addresses although IPv6 is disabled
                    raise
                missing = error
            else:
                port = sockets[0].getsockname()[1]
        if missing is not None and not sockets:
            raise missing
    except OSError as error:
        for bound in sockets:
            bound.close()
        if error.errno == errno.EADDRINUSE:
            step = "Stop what uses it, or choose another port (server.port or EVERTABLE_SERVER__PORT; 0 takes any)."
            raise PortInUseError(f"Port {port} is in use on {host}.", step) from None
        key = "host" if error.errno in _NOT_HERE else "port"
        raise _unusable(key, f"cannot listen on {host}, port {port}: {error.strerror}") from None
    return sockets


def _listening(family: int, address: str, port: int) -> socket.socket:
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # ignores connections that were closed
        if family == socket.AF_INET6:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)  # IPv4 has a socket of its own
        listening.bind((address, port))
        listening.listen(BACKLOG)
        listening.setblocking(False)
    except BaseException:
        listening.close()
        raise
    return listening


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
