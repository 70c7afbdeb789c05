"""The server's metrics for Prometheus: each is defined here, and its owner registers a function that reads it.

Most are read during a scrape, so that counting costs their owners only a number that they keep anyway. A metric without
a reader has no samples. Readers are called on a worker thread.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from prometheus_client import CollectorRegistry, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric as Family
from prometheus_client.registry import Collector

log = logging.getLogger(__name__)

Labels = tuple[str, ...]
Reader = Callable[[], float | Mapping[tuple[str], float] | Mapping[tuple[str, str], float]]


class MetricType(StrEnum):
    GAUGE = "gauge"
    COUNTER = "counter"
    HISTOGRAM = "histogram"


@dataclass(frozen=True)
class Metric:
    """One metric: its name as Prometheus shows it, and its meaning."""

    name: str
    type: MetricType
    labels: Labels
    meaning: str


SWAP_SECONDS = Metric(
    "evertable_swap_seconds", MetricType.HISTOGRAM, ("result",), "from the message to the end of a swap"
)

METRICS = (
    Metric("evertable_ready", MetricType.GAUGE, (), "1 when every public name shows a table"),
    Metric("evertable_publication", MetricType.GAUGE, (), "the number of the last flip"),
    Metric("evertable_generation", MetricType.GAUGE, (), "the live generation; 0 before the first"),
    Metric("evertable_table_rows", MetricType.GAUGE, ("table",), "rows in the table that a name shows"),
    Metric("evertable_table_version", MetricType.GAUGE, ("table",), "its version, which restarts with each swap"),
    Metric("evertable_table_bytes", MetricType.GAUGE, ("table",), "its approximate size in memory"),
    Metric("evertable_changes_folded_total", MetricType.COUNTER, (), "changelog records folded into tables"),
    Metric("evertable_rejects_total", MetricType.COUNTER, ("source",), "records that went to dead_letters"),
    Metric(
        "evertable_lag_records", MetricType.GAUGE, ("source", "partition"), "records of a topic that no table has yet"
    ),
    Metric("evertable_sockets", MetricType.GAUGE, (), "open WebSockets"),
    Metric("evertable_sockets_blocked", MetricType.GAUGE, (), "those whose viewer takes no frames now"),
    Metric("evertable_subscriptions", MetricType.GAUGE, (), "subscriptions on all of them"),
    Metric("evertable_queries", MetricType.GAUGE, (), "different sorts and filters in use"),
    Metric(
        "evertable_frames_sent_total", MetricType.COUNTER, ("type",), "frames to viewers, by type: page, patch, total …"
    ),
    Metric("evertable_sent_bytes_total", MetricType.COUNTER, (), "bytes in them"),
    Metric("evertable_downloads", MetricType.GAUGE, (), "exports in progress"),
    Metric("evertable_wrong_tokens_total", MetricType.COUNTER, (), "requests with a wrong token"),
    Metric("evertable_junk_connections_total", MetricType.COUNTER, (), "connections that sent no valid HTTP request"),
    SWAP_SECONDS,
)

_READ = {metric.name: metric for metric in METRICS if metric.type is not MetricType.HISTOGRAM}
_BUCKETS = (0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)


class Metrics(Collector):
    """The metrics of one server; ``read`` and ``swapped`` are for their owners, ``text`` is what is scraped."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        self._readers: dict[str, Reader] = dict.fromkeys(_READ, dict)
        self._swaps = Histogram(
            SWAP_SECONDS.name, SWAP_SECONDS.meaning, SWAP_SECONDS.labels, registry=self._registry, buckets=_BUCKETS
        )
        self._registry.register(self)
        ProcessCollector(registry=self._registry)  # memory, CPU time, open files, start

    def read(self, name: str, reader: Reader) -> None:
        """Registers a function that returns a number, or numbers by label values."""
        if name not in self._readers:
            raise ValueError(f"there is no metric {name} that can be read")
        self._readers[name] = reader

    def swapped(self, result: str, seconds: float) -> None:
        """Counts a swap that ended: ``published``, ``failed``, ``held``, ``superseded`` or ``rolled_back``."""
        self._swaps.labels(result).observe(seconds)

    def text(self) -> bytes:
        """Returns all metrics in Prometheus' text format."""
        return generate_latest(self._registry)

    def collect(self) -> Iterable[Family]:
        for name, reader in tuple(self._readers.items()):
            metric = _READ[name]
            make = CounterMetricFamily if metric.type is MetricType.COUNTER else GaugeMetricFamily
            family = make(name, metric.meaning, labels=metric.labels)
            try:
                value = reader()
            except Exception:
                log.exception("The metric %s could not be read.", name)
                value = {}
            for labels, number in value.items() if isinstance(value, Mapping) else [((), value)]:
                family.add_metric(labels, number)
            yield family
