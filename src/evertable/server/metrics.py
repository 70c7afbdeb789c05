"""The server's metrics for Prometheus: each is defined here, and its owner registers a function that reads it.

Most are read during a scrape, so that counting costs their owners only a number that they keep anyway::

    metrics.read("evertable_sockets", lambda: len(hub.sockets))
    metrics.read("evertable_frames_sent_total", lambda: {("page",): hub.pages, ("patch",): hub.patches})

A metric without a reader has no samples. Readers are called on a worker thread.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from prometheus_client import CollectorRegistry, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

from evertable.tables.catalog import Catalog
from evertable.tables.table import Table

log = logging.getLogger(__name__)

Labels = tuple[str, ...]
Reader = Callable[[], float | Mapping[tuple[str], float] | Mapping[tuple[str, str], float]]


class Kind(StrEnum):
    GAUGE = "gauge"
    COUNTER = "counter"
    HISTOGRAM = "histogram"


@dataclass(frozen=True)
class Metric:
    """One metric: its name as Prometheus shows it, and its meaning."""

    name: str
    kind: Kind
    labels: Labels
    meaning: str


SWAP_SECONDS = Metric("evertable_swap_seconds", Kind.HISTOGRAM, ("result",), "from the message to the end of a swap")

METRICS = (
    Metric("evertable_ready", Kind.GAUGE, (), "1 when every public name shows a table"),
    Metric("evertable_publication", Kind.GAUGE, (), "the number of the last flip"),
    Metric("evertable_generation", Kind.GAUGE, (), "the live generation; 0 before the first"),
    Metric("evertable_table_rows", Kind.GAUGE, ("table",), "rows in the table that a name shows"),
    Metric("evertable_table_version", Kind.GAUGE, ("table",), "its version, which restarts with each swap"),
    Metric("evertable_table_bytes", Kind.GAUGE, ("table",), "its approximate size in memory"),
    Metric("evertable_changes_folded_total", Kind.COUNTER, (), "changelog records folded into tables"),
    Metric("evertable_rejects_total", Kind.COUNTER, ("source",), "records that went to dead_letters"),
    Metric("evertable_lag_records", Kind.GAUGE, ("source", "partition"), "records of a topic that no table has yet"),
    Metric("evertable_sockets", Kind.GAUGE, (), "open WebSockets"),
    Metric("evertable_sockets_blocked", Kind.GAUGE, (), "those whose viewer takes no frames now"),
    Metric("evertable_subscriptions", Kind.GAUGE, (), "subscriptions on all of them"),
    Metric("evertable_queries", Kind.GAUGE, (), "different sorts and filters in use"),
    Metric("evertable_frames_sent_total", Kind.COUNTER, ("type",), "frames to viewers, by type: page, patch, total …"),
    Metric("evertable_sent_bytes_total", Kind.COUNTER, (), "bytes in them"),
    Metric("evertable_downloads", Kind.GAUGE, (), "exports in progress"),
    Metric("evertable_wrong_tokens_total", Kind.COUNTER, (), "requests with a wrong token"),
    Metric("evertable_junk_connections_total", Kind.COUNTER, (), "connections that sent no valid HTTP request"),
    SWAP_SECONDS,
)

_BY_NAME = {metric.name: metric for metric in METRICS}
_BUCKETS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)


class Metrics(Collector):
    """The metrics of one server; ``read`` and ``swapped`` are for their owners, ``text`` is what is scraped."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._readers: dict[str, list[Reader]] = defaultdict(list)
        self._swaps = Histogram(
            SWAP_SECONDS.name, SWAP_SECONDS.meaning, SWAP_SECONDS.labels, registry=self._registry, buckets=_BUCKETS
        )
        self._registry.register(self)
        ProcessCollector(registry=self._registry)  # memory, CPU time, open files, start

    def read(self, name: str, reader: Reader) -> Callable[[], None]:
        """Registers a function that returns a number, or numbers by label values; several readers are summed.

        Returns a function that removes it. A counter's reader should last as long as the server, or the count falls.
        """
        if name not in _BY_NAME or _BY_NAME[name].kind is Kind.HISTOGRAM:
            raise ValueError(f"there is no metric {name} that can be read")
        self._readers[name].append(reader)
        return lambda: self._readers[name].remove(reader)

    def swapped(self, result: str, seconds: float) -> None:
        """Counts a swap that ended: ``published``, ``failed``, ``held``, ``superseded`` or ``rolled_back``."""
        self._swaps.labels(result).observe(seconds)

    def text(self) -> bytes:
        """Returns all metrics in Prometheus' text format."""
        return generate_latest(self._registry)

    def describe(self) -> Iterable[Family]:
        return ()

    def collect(self) -> Iterable[Family]:
        for metric in METRICS:
            if metric.kind is not Kind.HISTOGRAM:
                yield self._family(metric)

    def _family(self, metric: Metric) -> Family:
        make = CounterMetricFamily if metric.kind is Kind.COUNTER else GaugeMetricFamily
        family = make(metric.name, metric.meaning, labels=metric.labels)
        sums: dict[Labels, float] = defaultdict(float)
        for reader in tuple(self._readers[metric.name]):
            try:
                value = reader()
            except Exception:
                log.exception("The metric %s could not be read.", metric.name)
                continue
            by_labels: Iterable[tuple[Labels, float]] = value.items() if isinstance(value, Mapping) else [((), value)]
            for labels, number in by_labels:
                sums[labels] += number
        for labels, value in sums.items():
            family.add_metric(list(labels), value)
        return family


def watch_catalog(metrics: Metrics, catalog: Catalog) -> None:
    """Registers the metrics of the catalog's tables."""

    def shown() -> Mapping[str, Table]:
        return catalog.current.tables

    metrics.read("evertable_ready", lambda: float(catalog.ready))
    metrics.read("evertable_publication", lambda: catalog.current.number)
    metrics.read("evertable_generation", lambda: catalog.current.generation)
    metrics.read("evertable_table_rows", lambda: {(name,): table.extent.total for name, table in shown().items()})
    metrics.read("evertable_table_version", lambda: {(name,): table.extent.version for name, table in shown().items()})
    metrics.read("evertable_table_bytes", lambda: {(name,): table.nbytes for name, table in shown().items()})
