"""Admin clients that report why they were not answered."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from evertable.errors import EvertableError, KafkaUnreachableError, NotAuthenticatedError, NotTrustedError
from evertable.kafka.errors import QUIET, ConnectionErrors


class Admin:
    """An admin client that can tell why it was not answered.

    After a call that was not answered, the next one has a new client. The old connection may be dead: a firewall drops
    an idle one without a word, and librdkafka would wait for a minute. Or its certificate was replaced.
    """

    def __init__(self, properties: Mapping[str, Any]) -> None:
        self._properties = properties
        self._trouble = ConnectionErrors(properties)
        self._lock = threading.Lock()
        self._client: AdminClient | None = None

    @property
    def client(self) -> AdminClient:
        """To be asked for each call; any thread may."""
        with self._lock:
            if self._client is None:
                listening: dict[str, Any] = {"error_cb": self._trouble.note}  # which does not hold on to the client
                self._client = AdminClient({**self._properties, **listening}, logger=QUIET)
            return self._client

    @property
    def servers(self) -> str:
        """What ``bootstrap.servers`` says."""
        return self._trouble.servers

    def explain(self, problem: KafkaException, topic: str, right: str = "Describe") -> EvertableError:
        """What an operator should read about a call that failed, and needs this right."""
        self.client.poll(0)  # brings what happened on the connections
        error = self._trouble.explain(problem.args[0], topic, right)
        if isinstance(error, NotTrustedError | NotAuthenticatedError):
            self._trouble = ConnectionErrors(self._properties)
        if isinstance(error, KafkaUnreachableError):
            self._client = None
        return error

    def recovered(self) -> None:
        """To be called when something was answered."""
        self.client.poll(0)
        self._trouble.clear()


class AdminPool:
    """The admin clients of one piece of work, one for each cluster, made when they are first needed.

    A new client takes four round trips before its first answer, so the steps of a build share one.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_properties: dict[frozenset[tuple[str, Any]], Admin] = {}

    def of(self, properties: Mapping[str, Any]) -> Admin:
        """The client for these properties; any thread may ask."""
        with self._lock:
            return self._by_properties.setdefault(frozenset(properties.items()), Admin(properties))

    def renew(self) -> None:
        """Drops all clients: their connections may be dead."""
        with self._lock:
            self._by_properties.clear()
