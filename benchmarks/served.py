"""``evertable serve`` as a separate process, and a viewer of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
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
    """``evertable serve`` as a separate process, with its output in a file."""

    def __init__(self, folder: Path, settings: dict[str, Any], **environment: str) -> None:
        path, self._output = folder / "evertable.yaml", folder / "serve.log"
        path.write_text(yaml.safe_dump(settings, sort_keys=False))
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(
                [sys.executable, "-c", "from evertable.cli import main; main()", "serve", str(path)],
                stdout=output,
                stderr=subprocess.STDOUT,
                env={**os.environ, "XDG_STATE_HOME": str(folder), "NO_COLOR": "1", **environment},
            )
        try:
            self.url = self._wait_url()
        except BaseException:
            self._process.kill()
            raise
        self.http = httpx.Client(base_url=self.url, timeout=60)

    @property
    def pid(self) -> int:
        return self._process.pid

    def _wait_url(self) -> str:
        while self._process.poll() is None:
            for line in self._output.read_text().splitlines():
                if line.startswith("Serving at"):
                    return line.split()[-1]
            time.sleep(0.01)
        raise SystemExit(self._output.read_text())

    def wait_ready(self) -> None:
        while self.http.get("/readyz").status_code != 200:
            time.sleep(0.02)

    def warnings(self) -> list[str]:
        return [line for line in self._output.read_text().splitlines() if "[warning" in line or "[error" in line]

    def stop(self) -> None:
        self.http.close()
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(60)


@contextmanager
def viewer(url: str, **view: Any) -> Iterator[ClientConnection]:
    """Opens a socket that watches the joined table."""
    address = url.replace("http", "ws", 1) + "/ws"
    with connect(address, subprotocols=[Subprotocol(SUBPROTOCOL)], compression=None, max_size=None) as socket:
        socket.send(json.dumps({"type": "subscribe", "id": "a", "table": "final_ui", "view": view}))
        yield socket
