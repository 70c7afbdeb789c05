"""A server in a thread of its own, for tests and benchmarks without an event loop."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, Generic, Self, TypeVar
from urllib.parse import urlsplit

from evertable.config.server import Server
from evertable.server.run import serving

A = TypeVar("A")


class ServerThread(Generic[A]):
    """Serves ``app`` until it is stopped: ``with ServerThread(app, settings) as server``."""

    def __init__(self, app: A, settings: Server) -> None:
        self.app = app
        self.url = ""
        self._settings = settings
        self._up = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="evertable-server", daemon=True)

    @property
    def port(self) -> int:
        return urlsplit(self.url).port or 0

    def start(self) -> None:
        """Returns when the server accepts connections; raises the error if it cannot."""
        self._thread.start()
        self._up.wait()
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._ended.set)
            self._thread.join()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:  # raised in start
            self._failure = error
        finally:
            self._up.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        app: Any = self.app
        async with serving(app, self._settings) as self.url:
            self._up.set()
            await self._ended.wait()
