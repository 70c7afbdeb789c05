"""One real Kafka broker as a child process: started, awaited, stopped, killed, started again."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from evertable.broker import ports, supervisor
from evertable.broker.folder import DataFolder
from evertable.broker.settings import HOST, server_properties
from evertable.errors import BrokerError, PortInUseError
from evertable.runtime.jars import jar_paths
from evertable.runtime.java import find_java

START_S = 60.0
STOP_S = 30.0
_ATTEMPTS = 5  # with ports of our choice, when others take them between choosing and binding
_LOG4J = Path(__file__).parent / "log4j2.properties"
_JVM = ("-Xms128m", "-Xmx1g", "-XX:+UseSerialGC", "-Djava.awt.headless=true", "-XX:+ExitOnOutOfMemoryError")


class EmbeddedBroker:
    """A broker of one node on the loopback interface; as a context manager it runs for the block.

    Without a port it takes a free one, without a data folder a temporary one that ``stop`` removes. ``start`` after
    ``stop`` or ``kill`` keeps the port, and after ``kill`` or with a data folder also the records. It never outlives
    the process that started it.
    """

    def __init__(
        self, port: int = 0, data_dir: str | Path | None = None, properties: Mapping[str, str] | None = None
    ) -> None:
        self._port = port
        self._data_dir = Path(data_dir).absolute() if data_dir is not None else None
        self._properties = dict(properties or {})
        self._folder: DataFolder | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._pid = 0

    @property
    def bootstrap(self) -> str:
        """What clients put into ``bootstrap.servers``."""
        if not self._port:
            raise BrokerError("The broker has no port before it was started.", "Call start() first.")
        return f"{HOST}:{self._port}"

    @property
    def pid(self) -> int:
        """The process number of the broker's JVM."""
        if not self.running:
            raise BrokerError("The broker is not running.", "Call start() first.")
        return self._pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def log_file(self) -> Path | None:
        """Where the broker writes its log, once it was started."""
        return self._folder.logs / "broker.log" if self._folder else None

    def start(self) -> EmbeddedBroker:
        """Starts the broker and returns when it answers clients."""
        if self.running:
            return self
        chosen = self._port == 0
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                self._start_once()
                return self
            except PortInUseError:
                if not chosen or attempt == _ATTEMPTS:
                    raise
                self._port = 0
        return self

    def stop(self) -> None:
        """Stops the broker cleanly (within 30 s, else kills it); a temporary data folder goes with it."""
        self._order(b"T", STOP_S)
        if self._data_dir is None and self._folder is not None:
            shutil.rmtree(self._folder.root, ignore_errors=True)
            self._folder = None

    def kill(self) -> None:
        """SIGKILL, as a crash would: nothing is flushed, and the data folder stays for the next start."""
        self._order(b"K", STOP_S)

    def __enter__(self) -> EmbeddedBroker:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _start_once(self) -> None:
        if self._port == 0:
            self._port = ports.choose(HOST)
        elif not ports.is_free(HOST, self._port):
            raise _port_in_use(self._port)
        folder = self._folder = self._folder or DataFolder(self._data_dir or Path(tempfile.mkdtemp(prefix="evertable-broker-")))
        lock = folder.lock()
        try:
            cluster = folder.format()
            controller = ports.choose(HOST, besides=self._port)
            folder.properties.write_text(server_properties(self._port, controller, folder.kafka, self._properties))
            self._launch(folder, lock)
        finally:
            os.close(lock)  # the broker's processes hold it from here on
        try:
            self._await_answer(folder, cluster)
        except BaseException:
            self.kill()
            raise

    def _launch(self, folder: DataFolder, lock: int) -> None:
        for old in folder.logs.glob("*.log"):
            old.unlink()  # a quoted tail must be of this start
        classpath = os.pathsep.join(map(str, jar_paths("broker")))
        java = [str(find_java().executable), *_JVM, "-cp", classpath]
        java += [f"-Dlog4j2.configurationFile={_LOG4J}", f"-Devertable.broker.logs={folder.logs}"]
        java += ["kafka.Kafka", str(folder.properties)]
        leftover = "-" if self._data_dir else str(folder.root)
        command = [sys.executable, "-I", "-S", supervisor.__file__, str(os.getpid()), leftover, *java]
        with (folder.logs / "console.log").open("wb") as console:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=console,
                pass_fds=(lock,),
                start_new_session=True,  # Ctrl-C is for us; we then stop the broker in order
                cwd=folder.root,
            )
        assert self._process.stdout is not None
        with self._process.stdout as said:
            self._pid = int(said.readline() or 0)

    def _await_answer(self, folder: DataFolder, cluster: str) -> None:
        assert self._process is not None
        deadline = time.monotonic() + START_S
        client = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0, "reconnect.backoff.max.ms": 200})
        while time.monotonic() < deadline:
            try:
                self._process.wait(0.05)
            except subprocess.TimeoutExpired:
                pass
            else:
                tail = folder.log_tail()
                if "Address already in use" in tail:
                    raise _port_in_use(self._port)
                raise BrokerError(f"The broker ended while it was starting. The end of its log:\n{tail}")
            try:
                answered = client.list_topics(timeout=0.5)
            except KafkaException:
                continue
            if answered.cluster_id == cluster and answered.brokers:  # and not somebody else's broker
                return
        raise BrokerError(f"The broker did not answer within {START_S:.0f} s. Its log's end:\n{folder.log_tail()}")

    def _order(self, order: bytes, patience_s: float) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        assert process.stdin is not None
        try:
            process.stdin.write(order)
            process.stdin.flush()
            process.wait(patience_s)
        except subprocess.TimeoutExpired:
            process.stdin.write(b"K")
            process.stdin.flush()
            process.wait(patience_s)
        except BrokenPipeError:  # it had ended by itself
            process.wait(patience_s)
        finally:
            try:
                process.stdin.close()
            except BrokenPipeError:
                pass


def _port_in_use(port: int) -> PortInUseError:
    return PortInUseError(f"Port {port} is in use on {HOST}.", "Stop what listens there, or choose another port.")
