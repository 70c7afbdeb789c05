"""A broker's data folder: formatted once for Kafka, and used by one broker at a time."""

from __future__ import annotations

import base64
import fcntl
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

from evertable.broker.settings import NODE_ID, server_properties
from evertable.errors import BrokerError
from evertable.install.cache import cache_folder, created_atomically, locked
from evertable.install.environment import child_environment
from evertable.install.jars import jar_paths
from evertable.install.java import find_java

_CHECKPOINT = "bootstrap.checkpoint"
_LOCK_WAIT_S = 5.0  # a broker whose owner has just died needs a moment to end


class DataFolder:
    """The folder of one broker: records (``kafka/``), log (``logs/``) and server.properties."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.kafka = root / "kafka"
        self.logs = root / "logs"
        self.log_file = self.logs / "broker.log"
        self.console = self.logs / "console.log"  # output of the JVM itself
        self.properties = root / "server.properties"

    def format(self) -> str:
        """Formats a new folder for Kafka, leaves a used one unchanged, and returns the cluster's id."""
        meta = self.kafka / "meta.properties"
        self.logs.mkdir(parents=True, exist_ok=True)
        if not meta.exists():
            self.kafka.mkdir(exist_ok=True)
            shutil.copyfile(_template(), self.kafka / _CHECKPOINT)
            scratch = meta.with_suffix(".new")
            scratch.write_text(
                f"version=1\ncluster.id={_kafka_uuid()}\nnode.id={NODE_ID}\ndirectory.id={_kafka_uuid()}\n"
            )
            scratch.replace(meta)  # last: a folder with this file is complete
        found = re.search(r"^cluster\.id=(\S+)$", meta.read_text(errors="replace"), re.MULTILINE)
        if found is None:
            raise BrokerError(f"{meta} has no cluster id: the folder is damaged.", "Choose another data folder.")
        return found.group(1)

    def lock(self) -> int:
        """Locks the folder for as long as any process holds the returned file open."""
        if "," in str(self.root):  # Kafka would read it as two folders
            raise BrokerError(f"The data folder {self.root} has a comma in its path.", "Choose another one.")
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            file = os.open(self.root / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise BrokerError(f"The data folder {self.root} cannot be used: {error}.", "Choose another one.") from error
        deadline = time.monotonic() + _LOCK_WAIT_S
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return file
            except BlockingIOError:
                if time.monotonic() > deadline:
                    os.close(file)
                    raise BrokerError(
                        f"Another broker is using the data folder {self.root}.", "Stop it, or choose another folder."
                    ) from None
                time.sleep(0.05)

    def log(self) -> list[str]:
        """Returns what the broker and its JVM logged since the last start, without stack frames."""
        files = [file for file in (self.log_file, self.console) if file.exists()]
        lines = [line for file in files for line in file.read_text(errors="replace").splitlines()]
        return [line for line in lines if not line.startswith("\t")]

    def clear_log(self) -> None:
        for file in (self.log_file, self.console):
            file.unlink(missing_ok=True)

    def log_tail(self, lines: int = 12) -> str:
        """Returns the end of the log, for error messages."""
        return "\n".join(f"  {line}" for line in self.log()[-lines:]) or "  (the log is empty)"


def _template() -> Path:
    """Returns Kafka's bootstrap.checkpoint (its feature levels), created once per machine since that takes a second."""
    jars = jar_paths("broker")
    home = cache_folder() / "broker-format" / jars[0].parent.name
    if not (home / _CHECKPOINT).exists():
        with locked("broker-format"):
            if not (home / _CHECKPOINT).exists():  # another process may have created it meanwhile
                with created_atomically(home) as scratch:
                    _run_storage_tool(jars, scratch)
    return home / _CHECKPOINT


def _run_storage_tool(jars: list[Path], scratch: Path) -> None:
    properties = scratch / "server.properties"
    properties.write_text(server_properties(9092, 9093, scratch, {}))
    command = [str(find_java().executable), "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    command += ["-cp", os.pathsep.join(map(str, jars)), "kafka.tools.StorageTool"]
    command += ["format", "-t", _kafka_uuid(), "-c", str(properties)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=child_environment())
    if done.returncode != 0 or not (scratch / _CHECKPOINT).exists():
        raise BrokerError(f"Kafka could not format a folder.\n{(done.stdout + done.stderr).strip()}")


def _kafka_uuid() -> str:
    # The zero gives it an "A" in front: an id that begins with "-" would look like an option.
    return base64.urlsafe_b64encode(b"\0" + os.urandom(15)).decode().rstrip("=")
