"""Viewers with a real socket, which check every frame against the protocol and apply it."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Self

from tests.live.picture import Frame, Picture
from tests.server.conftest import Serve
from tests.server_thread import ServerThread
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from evertable.live.hub import Hub
from evertable.protocol.frames import SUBPROTOCOL
from evertable.server.app import App
from evertable.server.socket import Sockets
from evertable.tables.catalog import Catalog

WAIT_S = 30


def live(serve: Serve, catalog: Catalog, **given: Any) -> tuple[ServerThread[App], Hub, Sockets]:
    """Starts a server with live views."""
    server = serve(catalog, given)
    return server, server.app.hub, server.app.sockets


class Viewer:
    """A socket, with a picture for each subscription."""

    def __init__(self, url: str, **options: Any) -> None:
        address = url.replace("http", "ws", 1) + "/ws"
        connecting = connect(
            address,
            subprotocols=[Subprotocol(SUBPROTOCOL)],
            max_size=None,
            compression=None,
            open_timeout=WAIT_S,
            **options,
        )
        self._open = ExitStack()
        self.socket: ClientConnection = self._open.enter_context(connecting)
        self.pictures: dict[str, Picture] = {}
        self.errors: list[Frame] = []
        self.waiting: list[Frame] = []
        self.pongs: list[int] = []
        self.on_frame: Callable[[Frame], None] = lambda frame: None
        self.welcome = self._receive()
        assert self.welcome["type"] == "welcome"

    def send(self, **frame: Any) -> None:
        self.socket.send(json.dumps(frame))

    def subscribe(self, table: str, name: str = "a", tag: int = 0, **view: Any) -> Picture:
        """Subscribes and waits for the answer."""
        self.send(type="subscribe", id=name, table=table, tag=tag, view=view)
        return self._answered(name, tag)

    def change_view(self, name: str, tag: int, **view: Any) -> Picture:
        """Changes the view and waits for the answer."""
        self.send(type="view", id=name, tag=tag, view=view)
        return self._answered(name, tag)

    def until(self, condition: Callable[[], object]) -> None:
        """Reads frames until the condition holds."""
        while not condition():
            self.take()

    def take(self) -> Frame:
        """Reads and applies the next frame."""
        frame = self._receive()
        match frame["type"]:
            case "error":
                self.errors.append(frame)
            case "pong":
                self.pongs.append(frame["tag"])
            case "waiting":
                self.waiting.append(frame)
            case "page" | "patch" | "total":
                self.pictures.setdefault(frame["id"], Picture()).apply(dict(frame))
            case other:
                raise AssertionError(f"unknown frame {other}")
        self.on_frame(frame)
        return frame

    def settle(self, tag: int) -> None:
        """Reads all frames that were sent before now."""
        self.send(type="ping", tag=tag)
        self.until(lambda: tag in self.pongs)

    def _answered(self, name: str, tag: int) -> Picture:
        def done() -> bool:
            picture = self.pictures.get(name)
            if picture is not None and picture.page and picture.page["tag"] == tag:
                return True
            return any((frame["id"], frame["tag"]) == (name, tag) for frame in (*self.errors, *self.waiting))

        self.until(done)
        return self.pictures.setdefault(name, Picture())

    def _receive(self) -> Frame:
        frame: Frame = json.loads(self.socket.recv(timeout=WAIT_S))
        return frame

    def close(self) -> None:
        self._open.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
