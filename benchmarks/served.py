"""``evertable serve`` as a process of its own, and a viewer of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import yaml
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from evertable.protocol.frames import SUBPROTOCOL


class Served:
    """``evertable serve`` as a process."""

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        path = folder / "evertable.yaml"
        path.write_text(yaml.safe_dump(settings, sort_keys=False))
        self._process = subprocess.Popen(
            [sys.executable, "-c", "from evertable.cli import main; main()", "serve", str(path)],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "XDG_STATE_HOME": str(folder)},
        )
        for line in self._process.stdout or ():
            if line.startswith("Serving at"):
                self.url = line.split()[-1]
                break
        threading.Thread(target=lambda: list(self._process.stdout or ()), daemon=True).start()
        self.http = httpx.Client(base_url=self.url, timeout=60)

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_ready(self) -> None:
        while self.http.get("/readyz").status_code != 200:
            time.sleep(0.02)

    def stop(self) -> None:
        self.http.close()
        self._process.send_signal(signal.SIGTERM)
        self._process.wait()


@contextmanager
def viewer(url: str, **view: Any) -> Iterator[ClientConnection]:
    """A socket that watches the joined table."""
    address = url.replace("http", "ws", 1) + "/ws"
    with connect(address, subprotocols=[Subprotocol(SUBPROTOCOL)], compression=None, max_size=None) as socket:
        socket.send(json.dumps({"type": "subscribe", "id": "a", "table": "final_ui", "view": view}))
        yield socket
