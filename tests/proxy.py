"""A TCP proxy in front of a broker, for the faults of a network: latency, a slow line, silently dropped connections."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self, TypeVar

from evertable.broker import EmbeddedBroker, ports
from evertable.broker.settings import HOST, NODE_ID

CHUNK_BYTES = 1 << 16

T = TypeVar("T")


@dataclass(eq=False)
class _Connection:
    """One client's connection and its counterpart to the broker."""

    client: asyncio.StreamWriter
    broker: asyncio.StreamWriter
    is_dropped: bool = False
    """Bytes are still accepted on both ends, but forwarded to neither."""
    tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def close(self) -> None:
        for task in self.tasks:
            task.cancel()
        for end in (self.client, self.broker):
            end.transport.abort()


class Proxy:
    """Forwards connections to ``target`` on the loopback interface; as a context manager it runs for the block.

    ``delay_ms`` is the latency of each direction, so a round trip takes twice as long. ``bytes_per_s`` limits each
    direction of each connection; 0 is no limit. Both apply to established connections, too.
    """

    def __init__(self, target: int, port: int = 0) -> None:
        self.delay_ms = 0.0
        self.bytes_per_s = 0.0
        self.port = port or ports.choose(HOST)
        self._target = target
        self._connections: set[_Connection] = set()
        self._accepts = True
        self._loop = asyncio.new_event_loop()
        self._server: asyncio.Server | None = None
        self._thread = threading.Thread(target=self._loop.run_forever, name="test-proxy", daemon=True)

    @property
    def bootstrap(self) -> str:
        """The value of clients' ``bootstrap.servers``."""
        return f"{HOST}:{self.port}"

    @property
    def connections(self) -> int:
        """The number of working connections."""
        return self._call(lambda: sum(not each.is_dropped for each in self._connections))

    def drop_established(self) -> int:
        """Silently drops all connections, as a firewall does: no FIN, no RST. New ones work.

        Returns how many. They stay dropped after ``heal``, until a client gives up on them.
        """

        def drop() -> int:
            working = [each for each in self._connections if not each.is_dropped]
            for each in working:
                each.is_dropped = True
            return len(working)

        return self._call(drop)

    def black_hole(self) -> int:
        """Drops all connections, and forwards nothing of new ones until ``heal``."""
        self._call(lambda: setattr(self, "_accepts", False))
        return self.drop_established()

    def heal(self) -> None:
        """Ends latency, limits and the black hole."""

        def heal() -> None:
            self.delay_ms, self.bytes_per_s, self._accepts = 0.0, 0.0, True

        self._call(heal)

    def __enter__(self) -> Self:
        self._thread.start()
        opening = asyncio.start_server(self._accept, HOST, self.port, limit=CHUNK_BYTES)
        self._server = asyncio.run_coroutine_threadsafe(opening, self._loop).result(30)
        return self

    def __exit__(self, *_: object) -> None:
        async def stop() -> None:
            if self._server is not None:
                self._server.close()
            for each in list(self._connections):
                each.close()
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(stop(), self._loop).result(30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(30)
        self._loop.close()

    def _call(self, work: Callable[[], T]) -> T:
        """Runs ``work`` on the proxy's thread, which owns all connections."""

        async def run() -> T:
            return work()

        return asyncio.run_coroutine_threadsafe(run(), self._loop).result(30)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            broker_reader, broker = await asyncio.open_connection(HOST, self._target, limit=CHUNK_BYTES)
        except OSError:  # the broker is down: refuse, as it would
            writer.transport.abort()
            return
        connection = _Connection(writer, broker, is_dropped=not self._accepts)
        self._connections.add(connection)
        connection.tasks = [
            asyncio.ensure_future(self._forward(connection, reader, broker)),
            asyncio.ensure_future(self._forward(connection, broker_reader, writer)),
        ]
        with suppress(asyncio.CancelledError):
            await asyncio.gather(*connection.tasks, return_exceptions=True)
        self._connections.discard(connection)
        connection.close()

    async def _forward(
        self, connection: _Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Forwards one direction, each chunk when it is due; the end of a connection is a chunk, too."""
        chunks: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(maxsize=1024)

        async def read() -> None:
            chunk = b"-"
            while chunk:
                try:
                    chunk = await reader.read(CHUNK_BYTES)
                except OSError:
                    chunk = b""
                await chunks.put((self._loop.time() + self.delay_ms / 1000, chunk))

        async def write() -> None:
            while True:
                due, chunk = await chunks.get()
                await asyncio.sleep(max(0.0, due - self._loop.time()))
                if not connection.is_dropped:
                    if not chunk:
                        break
                    writer.write(chunk)
                    await writer.drain()
                elif not chunk:
                    return
                if self.bytes_per_s:
                    await asyncio.sleep(len(chunk) / self.bytes_per_s)
            connection.close()

        reading = asyncio.ensure_future(read())
        try:
            with suppress(OSError):
                await write()
        finally:
            reading.cancel()


@contextmanager
def broker_behind_proxy(data_dir: Path | None = None) -> Iterator[tuple[EmbeddedBroker, Proxy]]:
    """A broker with a second listener that is reached, and advertised, through the proxy.

    Clients of ``proxy.bootstrap`` never leave the proxy. ``broker.bootstrap`` goes past it, for a test's own clients.
    """
    direct, behind, controller = distinct_ports(3)
    with Proxy(behind) as proxy:
        addresses = {"PLAINTEXT": direct, "PROXIED": behind, "CONTROLLER": controller}
        advertised = {"PLAINTEXT": direct, "PROXIED": proxy.port}
        properties = {
            "listeners": _listeners(addresses),
            "advertised.listeners": _listeners(advertised),
            "listener.security.protocol.map": ",".join(f"{name}:PLAINTEXT" for name in addresses),
            "controller.quorum.voters": f"{NODE_ID}@{HOST}:{controller}",
            "log.retention.ms": "-1",
        }
        with EmbeddedBroker(direct, data_dir, properties) as broker:
            yield broker, proxy


def _listeners(by_name: dict[str, int]) -> str:
    return ",".join(f"{name}://{HOST}:{port}" for name, port in by_name.items())


def distinct_ports(count: int) -> list[int]:
    """Returns free ports for a broker."""
    found: set[int] = set()
    while len(found) < count:
        found.add(ports.choose(HOST))
    return list(found)
