"""Deephaven in its own environment: a server process, and a remote viewer process for each measurement."""

from __future__ import annotations

import json
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Self

from benchmarks import topics
from benchmarks.peers.evertable import KEYS
from benchmarks.peers.system import NoAnswerError, Pair, Rows, SwapSeen

from evertable.broker import ports

HERE = Path(__file__).parent
PYTHON = HERE.parents[1] / ".venv-peers" / "deephaven" / "bin" / "python"
HEAP = "8g"
ANSWER_S = 60.0
"""A viewer that is silent for so long after everything was sent sees nothing: its table has failed."""
STAYS_S = 3.0
"""How long an open viewer may take to see new topics after all of their rows are shown."""


class Deephaven:
    def __init__(self, bootstrap: str, cycle_ms: int) -> None:
        self.name = f"Deephaven, {cycle_ms} ms"
        self._bootstrap = bootstrap
        self._cycle_ms = cycle_ms

    def __enter__(self) -> Self:
        self._log = tempfile.TemporaryFile("w+")
        self._port = ports.choose("127.0.0.1")
        arguments = [str(self._port), str(self._cycle_ms), self._bootstrap, HEAP]
        self._process = self._run("in_deephaven.py", *arguments)
        self._answer(self._process)
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()  # its Kafka consumers would not end
        self._process.wait()
        self._log.close()

    @property
    def pid(self) -> int:
        return self._process.pid

    def build(self, pair: Pair, join: str, rows: Rows) -> float:
        self._request(pair, join, rows)
        self._answer(self._process)
        return float(self._answer(self._process)["seconds"])

    def latencies(self, topic: str, join: str, messages: int, rate: float) -> list[float]:  # noqa: ARG002 - as others
        """The same view for every ``join``."""
        sending = topics.sending(self._bootstrap, topic, KEYS, messages, rate)
        with self._viewer("latency", str(messages)) as viewer, sending, _limit(viewer, messages / rate + ANSWER_S):
            ages: list[float] = self._answer(viewer)["ages"]
        return ages

    def swap(self, pair: Pair, called: str, rows: Rows) -> SwapSeen:
        with self._viewer("follow", called) as viewer:
            begin = time.time()
            self._request(pair, "left", rows)
            self._answer(self._process)
            _send(viewer, "again")
            complete = self._answer(self._process)["complete"]
            time.sleep(STAYS_S)
            _send(viewer, "end")
            seen = self._answer(viewer)
        stayed, again = seen["stayed"], seen["again"]
        return SwapSeen(
            stayed["first_new"] - begin if "first_new" in stayed else None,
            again["first_new"] - begin,
            complete - begin,
            max(complete, again["first_new"]) - again["opened"],
        )

    def _request(self, pair: Pair, join: str, rows: Rows) -> None:
        counts = [rows.users, rows.accounts, rows.joined(join)]
        _send(self._process, json.dumps({"users": pair[0], "accounts": pair[1], "join": join, "rows": counts}))

    @contextmanager
    def _viewer(self, *arguments: str) -> Iterator[subprocess.Popen[str]]:
        process = self._run("at_deephaven.py", str(self._port), *arguments)
        try:
            with _limit(process, ANSWER_S):
                self._answer(process)
            yield process
        finally:
            process.kill()
            process.wait()

    def _run(self, program: str, *arguments: str) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        command = [str(PYTHON), "-P", str(HERE / program), *arguments]  # -P: this folder has a deephaven.py
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=self._log, text=True)

    def _answer(self, process: subprocess.Popen[str]) -> dict[str, Any]:
        """Reads the next line of JSON; Deephaven prints other lines, too."""
        for line in process.stdout or ():
            if line.startswith("{"):
                answer: dict[str, Any] = json.loads(line)
                return answer
        self._log.seek(0)
        raise NoAnswerError(f"Deephaven ended: {self._log.read()[-2000:].strip()}")


@contextmanager
def _limit(process: subprocess.Popen[str], seconds: float) -> Iterator[None]:
    """Kills the process if the block takes longer."""
    timer = threading.Timer(seconds, process.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _send(process: subprocess.Popen[str], line: str) -> None:
    pipe: IO[str] | None = process.stdin
    if pipe is not None:
        pipe.write(line + "\n")
        pipe.flush()
