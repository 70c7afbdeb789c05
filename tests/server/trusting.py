"""TLS for clients with two threads, such as those of ``websockets.sync``."""

from __future__ import annotations

import select
import ssl
import threading
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any


class OneAtATime(ssl.SSLSocket):
    """Keeps reading and writing apart: OpenSSL wants it so, and Python does it from 3.13 on.

    Without it, a session ticket that is read while the first request is written ends the connection now and then.
    """

    def recv(self, buflen: int = 1024, flags: int = 0) -> bytes:
        while True:
            with self._turn():
                waits_s = self.gettimeout()
                self.settimeout(0)
                try:
                    return super().recv(buflen, flags)
                except ssl.SSLWantReadError:
                    pass
                finally:
                    self.settimeout(waits_s)
            select.select([self], [], [], waits_s)

    def sendall(self, data: Any, flags: int = 0) -> None:
        with self._turn():
            super().sendall(data, flags)

    def send(self, data: Any, flags: int = 0) -> int:
        with self._turn():
            return super().send(data, flags)

    def _turn(self) -> AbstractContextManager[bool]:
        lock: AbstractContextManager[bool] = self.__dict__.setdefault("_lock", threading.RLock())
        return lock


def trusting(certificate: Path) -> ssl.SSLContext:
    """Returns a context that trusts only this certificate."""
    context = ssl.create_default_context(cafile=str(certificate))
    context.sslsocket_class = OneAtATime
    return context
