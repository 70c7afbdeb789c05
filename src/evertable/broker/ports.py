"""Free ports for the broker."""

from __future__ import annotations

import errno
import random
import socket

from evertable.errors import BrokerError

# Below the range that kernels use for outgoing connections (32768 and up): while the broker is down, one of its own
# clients could otherwise get the broker's port, or even connect to itself.
_CANDIDATES = range(20000, 32000)


def is_free(host: str, port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as Java does: ignores closed connections
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return False
            raise BrokerError(f"Port {port} cannot be used on {host}: {error}.", "Choose another port.") from error
    return True


def choose(host: str, *, besides: int = 0) -> int:
    """Returns a port that is free now; another process may still take it before it is used."""
    while True:
        port = random.choice(_CANDIDATES)  # noqa: S311 - spreads, protects nothing
        if port != besides and is_free(host, port):
            return port
