"""The demo's broker and sample data, and the configuration of its server."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from evertable.broker import EmbeddedBroker
from evertable.config import Config
from evertable.demo.datasets import COLUMNS, DATASETS
from evertable.demo.sample_writer import SampleWriter


@dataclass(frozen=True)
class DemoEnvironment:
    """A running broker with sample topics, and a folder for all data."""

    broker: EmbeddedBroker
    folder: Path
    written: int
    """The number of sample records written; 0 if the folder has them from an earlier run."""

    def config(self, port: int, token: str) -> Config:
        """Returns a server's configuration; its natural join makes balances change in place."""
        sources = {
            name: {"topic": topic, "key": "userId", "columns": COLUMNS[name]}
            for name, topic in zip(COLUMNS, DATASETS[0].topics, strict=True)
        }
        return Config.model_validate(
            {
                "app": "demo",
                "kafka": {"bootstrap.servers": self.broker.bootstrap},
                "sources": sources,
                "join": {"type": "natural"},
                "engine": {"checkpoint_dir": str(self.folder / "checkpoints")},
                "server": {"port": port, "token": token},
            }
        )


@contextmanager
def demo_environment(
    rows: int, rate: float, data_dir: Path | None = None, kafka_port: int = 0
) -> Iterator[DemoEnvironment]:
    """Runs a broker and writes sample data to it; without ``data_dir``, the data is deleted at the end."""
    with ExitStack() as exits:
        if data_dir is None:
            temporary = tempfile.TemporaryDirectory(prefix="evertable-demo-", ignore_cleanup_errors=True)
            data_dir = Path(exits.enter_context(temporary))
        folder = data_dir.absolute()
        broker = exits.enter_context(EmbeddedBroker(kafka_port, folder / "broker"))
        writer = SampleWriter(broker.bootstrap, rows)
        written = writer.fill()
        exits.enter_context(writer.writing_changes(rate))
        yield DemoEnvironment(broker, folder, written)
