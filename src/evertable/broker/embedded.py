"""A real Kafka broker in a child process, which can be started, stopped, killed and restarted."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from evertable.broker import ports
from evertable.broker.folder import DataFolder
from evertable.broker.process import SupervisedProcess
from evertable.broker.settings import HOST, server_properties
from evertable.errors import BrokerError, PortInUseError
from evertable.install.jars import jar_paths
from evertable.install.java import find_java

START_S = 60.0
STOP_S = 30.0
_ATTEMPTS = 5  # another process may take a port between our choice and Kafka's bind
_LOG4J = Path(__file__).parent / "log4j2.properties"
_PREFIX = "evertable-broker-"
_POLL_S = 0.05
_ASK_S = 0.5
_JVM = ("-Xms128m", "-Xmx1g", "-XX:+UseSerialGC", "-Djava.awt.headless=true", "-XX:+ExitOnOutOfMemoryError")


class EmbeddedBroker:
    """A broker of one node on the loopback interface; as a context manager it runs for the block.

    Without a port it takes a free one, without a data folder a temporary one that ``stop`` removes. ``start`` after
    ``stop`` or ``kill`` keeps the port, and after ``kill`` or with a data folder also the records. ``properties``
    are Kafka's (``{"auto.create.topics.enable": "true"}``). The broker never outlives the process that started it.
    """

    def __init__(
        self,
        port: int = 0,
        data_dir: str | Path | None = None,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        self._port = port
        self._data_dir = Path(data_dir).absolute() if data_dir is not None else None
        self._properties = dict(properties or {})
        self._folder: DataFolder | None = None
        self._process: SupervisedProcess | None = None
        self._remove_folder: Callable[[], object] | None = None  # for a temporary one

    @property
    def bootstrap(self) -> str:
        """The value of ``bootstrap.servers`` for clients."""
        if not self._port:
            raise BrokerError("The broker has no port until it is started.", "Call start() first.")
        return f"{HOST}:{self._port}"

    @property
    def pid(self) -> int:
        """The process id of the broker's JVM."""
        if self._process is None or not self._process.running:
            raise BrokerError("The broker is not running.", "Call start() first.")
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.running

    @property
    def log_file(self) -> Path | None:
        """The broker's log file; None before the first start."""
        return self._folder.log_file if self._folder else None

    def start(self) -> EmbeddedBroker:
        """Starts the broker and returns when it answers clients."""
        if self.running:
            return self
        self.kill()  # cleans up after one that has died
        first = self._folder is None
        folder = self._folder = self._folder or self._new_folder()
        try:
            self._port = self._start_on_a_port(folder)
        except BaseException:
            self.kill()
            if first:
                self._forget_folder()
            raise
        return self

    def stop(self) -> None:
        """Stops the broker cleanly, kills it after 30 s, and removes a temporary data folder."""
        if self._process is not None:
            self._process.stop(STOP_S)
        self._process = None
        self._forget_folder()

    def kill(self) -> None:
        """Kills the broker, as a crash would: nothing is flushed, and the data folder stays for the next start."""
        if self._process is not None:
            self._process.kill()
        self._process = None

    def __enter__(self) -> EmbeddedBroker:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _start_on_a_port(self, folder: DataFolder) -> int:
        """Starts the broker, with another port if a process takes the chosen one before Kafka does."""
        for _ in range(_ATTEMPTS):
            port = self._port or ports.choose(HOST)
            if self._port and not ports.is_free(HOST, port):
                break
            self._process, cluster = self._launch(port, folder)
            if _answers(self._process, port, cluster):
                return port
            if not any("Address already in use" in line for line in folder.log()):
                what = "did not answer in time" if self._process.running else "ended while it was starting"
                raise BrokerError(f"The broker {what}. The end of its log:\n{folder.log_tail()}")
            self.kill()
        step = "Stop what listens there, or choose another port for Kafka (0 takes a free one)."
        raise PortInUseError(f"Port {port} is in use on {HOST}.", step)

    def _launch(self, port: int, folder: DataFolder) -> tuple[SupervisedProcess, str]:
        """Starts the JVM on a folder that no other broker uses; returns the process and the cluster's id."""
        lock = folder.lock()
        try:
            cluster = folder.format()
            controller = ports.choose(HOST, besides=port)
            folder.properties.write_text(server_properties(port, controller, folder.kafka, self._properties))
            folder.clear_log()  # an error must quote the log of this start
            classpath = os.pathsep.join(map(str, jar_paths("broker")))
            command = [str(find_java().executable), *_JVM, "-cp", classpath]
            command += [f"-Dlog4j2.configurationFile={_LOG4J.as_uri()}", f"-Devertable.broker.logs={folder.logs}"]
            command += ["kafka.Kafka", str(folder.properties)]
            leftover = folder.root if self._data_dir is None else None
            return SupervisedProcess(command, folder.console, leftover, keep_open=[lock]), cluster
        finally:
            os.close(lock)  # from now on the broker's processes hold the lock

    def _new_folder(self) -> DataFolder:
        if self._data_dir is not None:
            return DataFolder(self._data_dir)
        root = Path(tempfile.mkdtemp(prefix=_PREFIX))
        # Also removes the folder of a broker that was killed and never stopped.
        self._remove_folder = weakref.finalize(self, shutil.rmtree, root, ignore_errors=True)
        return DataFolder(root)

    def _forget_folder(self) -> None:
        self._folder = None
        if self._remove_folder is not None:
            self._remove_folder()


def _answers(process: SupervisedProcess, port: int, cluster: str) -> bool:
    """Waits until this broker, and not another one on the same port, answers a request."""
    client = AdminClient({"bootstrap.servers": f"{HOST}:{port}", "log_level": 0, "reconnect.backoff.max.ms": 200})
    deadline = time.monotonic() + START_S
    while time.monotonic() < deadline and not process.ended_within(_POLL_S):
        with suppress(KafkaException):  # not listening yet
            answer = client.list_topics(timeout=_ASK_S)
            if str(answer.cluster_id) == cluster and answer.brokers:  # str(): its stub claims None
                return True
    return False
