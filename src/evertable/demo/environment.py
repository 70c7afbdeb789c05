"""The demo's broker and sample data, and the configuration of its server."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from evertable.broker import EmbeddedBroker
from evertable.config import Config
from evertable.demo.datasets import COLUMNS, DATASETS
from evertable.demo.sample_writer import SampleWriter

APP = "demo"


class DemoEnvironment:
    """A running broker with sample topics, and a folder for all data; a temporary folder is deleted at the end."""

    def __init__(self, rows: int, rate: float, data_dir: Path | None = None, kafka_port: int = 0) -> None:
        self._rows = rows
        self._rate = rate
        self._data_dir = data_dir
        self._kafka_port = kafka_port
        self._exits = ExitStack()
        self.written = 0
        """The number of sample records written; 0 if the folder has them from an earlier run."""

    def __enter__(self) -> Self:
        with ExitStack() as exits:
            if self._data_dir is None:
                self.folder = Path(tempfile.mkdtemp(prefix="evertable-demo-"))
                exits.callback(shutil.rmtree, self.folder, ignore_errors=True)
            else:
                self.folder = self._data_dir.absolute()
            self.broker = exits.enter_context(EmbeddedBroker(self._kafka_port, self.folder / "broker"))
            writer = SampleWriter(self.broker.bootstrap, self._rows, self._rate)
            self.written = writer.fill()
            exits.enter_context(writer)
            self._exits = exits.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._exits.close()

    def config(self, port: int, token: str) -> Config:
        """Returns a server's configuration; its natural join makes balances change in place."""
        topics = dict(zip(COLUMNS, DATASETS[0].topics, strict=True))
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
