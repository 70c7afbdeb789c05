"""All of Evertable in a thread, with real Kafka, Spark and server; tests use it as users do."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Self

import httpx
from confluent_kafka import Producer
from tests.server.schemas import problems
from tests.waiting import wait_until

from evertable.application import Application
from evertable.config import Config
from evertable.server.operations import openapi_document

DESCRIPTION = openapi_document()

USERS = {"userId": "string", "name": "string", "age": "long"}
ACCOUNTS = {"userId": "string", "accountType": "string", "balance": "double"}


def config(bootstrap: str, app: str, topics: tuple[str, str], folder: Path, **sections: Any) -> Config:
    """Makes a configuration for an app."""
    return Config.model_validate(settings(bootstrap, app, topics, folder, **sections))


def settings(bootstrap: str, app: str, topics: tuple[str, str], folder: Path, **sections: Any) -> dict[str, Any]:
    """Returns the same as a file would hold it."""
    return {
        "app": app,
        "kafka": {"bootstrap.servers": bootstrap},
        "sources": {
            "users": {"topic": topics[0], "key": "userId", "columns": USERS},
            "accounts": {"topic": topics[1], "key": "userId", "columns": ACCOUNTS},
        },
        "engine": {
            "interval_s": 5,
            "checkpoint_dir": str(folder / "checkpoints"),
        },
        "server": {"port": 0},
        **sections,
    }


class Records:
    """Sends records, in order."""

    def __init__(self, bootstrap: str) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "linger.ms": 1,
                "queue.buffering.max.messages": 2_000_000,  # all that a test sends at once
                "log_level": 0,
            }
        )

    def send(self, topic: str, values: Iterable[bytes | Mapping[str, Any]]) -> None:
        failures: list[object] = []
        for value in values:
            self._producer.produce(
                topic,
                value if isinstance(value, bytes) else json.dumps(value),
                on_delivery=lambda error, _: failures.append(error) if error else None,
            )
        assert self._producer.flush(60) == 0
        assert not failures

    def fill(self, topics: tuple[str, str], mark: str, users: int = 10, accounts: int = 20) -> None:
        """Sends rows that carry the mark."""
        self.send(topics[0], ({"userId": f"u{i}", "name": f"{mark} {i}", "age": i} for i in range(users)))
        self.send(
            topics[1],
            ({"userId": f"u{i % users}", "accountType": mark, "balance": float(i)} for i in range(accounts)),
        )


class Http:
    """Requests to a running app."""

    http: httpx.Client

    def rows(self, table: str, **parameters: Any) -> list[dict[str, Any]]:
        """Returns a table's rows as dicts; none while the table does not exist yet."""
        answer = self.http.get(f"/api/tables/{table}/rows", params={"limit": 10_000, **parameters})
        if answer.status_code == 503:
            return []
        page = answer.raise_for_status().json()
        names = [column["name"] for column in page["columns"]]
        return [dict(zip(names, row, strict=True)) for row in page["rows"]]

    @property
    def status(self) -> dict[str, Any]:
        """The row of orchestrator_status, from a response that matches /openapi.json."""
        whole = self.http.get("/api/status").json()
        assert list(problems(whole, DESCRIPTION["components"]["schemas"]["Status"], DESCRIPTION)) == []
        found: dict[str, Any] = whole["orchestrator"] or {}
        return found

    @property
    def publication(self) -> int:
        return int(self.http.get("/api/status").json()["publication"])

    @property
    def logs(self) -> list[str]:
        return [row["msg"] for row in self.rows("orchestrator_logs")]

    def _log(self) -> str:
        return "\n".join(f"{row['ts']} {row['msg']}" for row in self.rows("orchestrator_logs"))

    def control(self, message: Mapping[str, Any]) -> tuple[int, int]:
        """Sends a control message, and returns its partition and offset."""
        answer = self.http.post("/api/control", json=message)
        assert answer.status_code == 202, answer.text
        return answer.json()["partition"], answer.json()["offset"]

    def verdict(self, place: tuple[int, int]) -> dict[str, Any]:
        """Waits for the row of a control message to be settled, and returns it."""

        def found() -> list[dict[str, Any]]:
            rows = self.rows("control_raw", filter=f"partition = {place[0]} and offset = {place[1]}")
            return [row for row in rows if row["result"] != "pending"]

        wait_until(found, lambda: f"the verdict on {place}\n{self._log()}")
        return found()[0]

    def wait_for(self, condition: Callable[[dict[str, Any]], bool], what: str = "the status") -> dict[str, Any]:
        wait_until(lambda: condition(self.status), lambda: f"{what}; {self.status}\n{self._log()}")
        return self.status

    def wait_live(self) -> dict[str, Any]:
        """Waits until a generation is live, and returns the status."""
        return self.wait_for(lambda status: status.get("state") == "live", "a live generation")


class App(Http):
    """``evertable serve`` in this process."""

    def __init__(self, config: Config, **options: Any) -> None:
        self.config = config
        self.failure: BaseException | None = None
        self._up = threading.Event()
        self._serving = Application(config, on_up=self._is_up, **options)
        self._thread = threading.Thread(target=self._run, name="test-serving", daemon=True)

    def _is_up(self, url: str) -> None:
        self.url = url
        self._up.set()

    def _run(self) -> None:
        try:
            asyncio.run(self._serving.run())
        except BaseException as error:
            self.failure = error
        finally:
            self._up.set()

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._up.wait(60)
        self.http = httpx.Client(base_url=self.url, timeout=30)
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()
        self._serving.stop()
        self._thread.join(60)
        assert not self._thread.is_alive(), "the app does not stop"

    @property
    def running(self) -> bool:
        return self._thread.is_alive()
