"""What the demo consists of, and the configuration that runs it."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from evertable.broker import EmbeddedBroker
from evertable.config import Config
from evertable.demo.feeder import Feeder
from evertable.demo.worlds import COLUMNS, WORLDS

APP = "demo"


class Stage:
    """A broker with sample topics, and a folder for all that a demo leaves; one that nobody named goes with it."""

    def __init__(self, rows: int, rate: float, data_dir: Path | None = None, kafka_port: int = 0) -> None:
        self._rows = rows
        self._rate = rate
        self._given = data_dir
        self._kafka_port = kafka_port
        self._ends = ExitStack()
        self.written = 0
        """Sample records; none in a folder that has them from before."""

    def __enter__(self) -> Self:
        with ExitStack() as ends:
            if self._given is None:
                self.folder = Path(tempfile.mkdtemp(prefix="evertable-demo-"))
                ends.callback(shutil.rmtree, self.folder, ignore_errors=True)
            else:
                self.folder = self._given.absolute()
            self.broker = ends.enter_context(EmbeddedBroker(self._kafka_port, self.folder / "broker"))
            feeder = Feeder(self.broker.bootstrap, self._rows, self._rate)
            self.written = feeder.fill()
            ends.enter_context(feeder)
            self._ends = ends.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ends.close()

    def config(self, port: int, token: str) -> Config:
        """Of a server over the first world; by the natural join each user's balance moves in place."""
        topics = dict(zip(COLUMNS, WORLDS[0].topics, strict=True))
        sources: dict[str, Any] = {
            name: {"topic": topics[name], "key": "userId", "columns": columns} for name, columns in COLUMNS.items()
        }
        return Config.model_validate(
            {
                "app": APP,
                "kafka": {"bootstrap.servers": self.broker.bootstrap},
                "sources": sources,
                "join": {"type": "natural"},
                "engine": {"checkpoint_dir": str(self.folder / "checkpoints")},
                "server": {"port": port, "token": token},
            }
        )
