"""Admin clients that reconnect after a failure and explain it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

from evertable.errors import EvertableError, KafkaUnreachableError, NotAuthenticatedError, NotTrustedError
from evertable.kafka.errors import QUIET, ConnectionErrors

K = TypeVar("K")
T = TypeVar("T")

GRACE_S = 1.0
"""How long an answer may take beyond the request's own timeout, which librdkafka enforces."""


class Admin:
    """An admin client that can explain why a call failed.

    After a call without an answer, the next one gets a new client. The old connection may be dead: a firewall drops an
    idle one silently, and librdkafka would wait for a minute. Or its certificate was replaced.
    """

    def __init__(self, properties: Mapping[str, Any]) -> None:
        self._properties = properties
        self._errors = ConnectionErrors(properties)
        self._lock = threading.Lock()
        self._client: AdminClient | None = None

    @property
    def client(self) -> AdminClient:
        """The client for the next call; thread-safe. Do not keep it."""
        with self._lock:
            if self._client is None:
                callback: dict[str, Any] = {"error_cb": self._errors.note}  # holds no reference to the client
                self._client = AdminClient({**self._properties, **callback}, logger=QUIET)
            return self._client

    def ask(self, request: Callable[[AdminClient], Mapping[K, Future[T]]], timeout_s: float) -> Mapping[K, Future[T]]:
        """Sends a request and waits until all of it is answered; KafkaException if it is not in time.

        Answers may be errors. Meanwhile another thread may drop the client, so this call holds on to it: librdkafka
        answers nothing any more once the last reference to a client is gone.
        """
        client = self.client
        answers = request(client)
        _, pending = wait(answers.values(), timeout_s + GRACE_S)
        if pending:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        return answers

    @property
    def servers(self) -> str:
        """The value of ``bootstrap.servers``."""
        return self._errors.servers

    def explain(self, problem: KafkaException, topic: str, right: str = "Describe") -> EvertableError:
        """Returns the error to report for a failed call about ``topic``, which needed ``right``."""
        self.client.poll(0)  # delivers the connection's errors
        error = self._errors.explain(problem.args[0], topic, right)
        if isinstance(error, NotTrustedError | NotAuthenticatedError):
            self._errors = ConnectionErrors(self._properties)
        if isinstance(error, KafkaUnreachableError):
            self._client = None
        return error

    def recovered(self) -> None:
        """Forgets earlier errors, as a call was answered."""
        self.client.poll(0)
        self._errors.clear()


class AdminPool:
    """Shares one admin client per cluster between the steps of a build; each is created when it is first needed.

    A new client needs four round trips before its first answer.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_properties: dict[frozenset[tuple[str, Any]], Admin] = {}

    def of(self, properties: Mapping[str, Any]) -> Admin:
        """Returns the client for these properties; thread-safe."""
        with self._lock:
            return self._by_properties.setdefault(frozenset(properties.items()), Admin(properties))

    def renew(self) -> None:
        """Drops all clients, as their connections may be dead."""
        with self._lock:
            self._by_properties.clear()
