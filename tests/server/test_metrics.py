"""Metrics for Prometheus, and their sources."""

from __future__ import annotations

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.live.samples import table
from tests.server.conftest import Serve

from evertable.server.metrics import METRICS, Metrics, MetricType
from evertable.tables.catalog import Catalog

Samples = dict[tuple[str, ...], float]


def samples(text: str, name: str) -> Samples:
    """Returns a metric's values by label values."""
    return {
        tuple(sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name
    }


def test_every_metric_is_exported(client: httpx.Client) -> None:
    """Those without a source yet are, too, and those of the process."""
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=")
    families = {family.name: family.type for family in text_string_to_metric_families(answer.text)}
    ours = {metric.name.removesuffix("_total"): metric.type.value for metric in METRICS}
    assert ours == {name: kind for name, kind in families.items() if name.startswith("evertable_")}
    assert {"process_resident_memory_bytes", "process_cpu_seconds"} <= families.keys()
    assert all(metric.name.endswith("_total") == (metric.type is MetricType.COUNTER) for metric in METRICS)


def test_the_metrics_of_the_catalog(client: httpx.Client, catalog: Catalog) -> None:
    """They are read on each request."""
    text = client.get("/metrics").text
    assert samples(text, "evertable_table_rows") == {("users_ui",): 3}
    assert samples(text, "evertable_table_version") == {("users_ui",): 1}
    assert (samples(text, "evertable_generation"), samples(text, "evertable_ready")) == ({(): 3}, {(): 1})
    catalog.publish(4, {"users_ui": table(rows=[])})
    text = client.get("/metrics").text
    assert (samples(text, "evertable_table_rows"), samples(text, "evertable_publication")) == (
        {("users_ui",): 0},
        {(): 2},
    )


def test_before_the_first_generation(serve: Serve) -> None:
    """Names without a table have no value instead of 0."""
    text = httpx.get(f"{serve(Catalog(['users_ui'])).url}/metrics").text
    assert (samples(text, "evertable_table_rows"), samples(text, "evertable_ready")) == ({}, {(): 0})


def test_sources_of_metrics() -> None:
    """Each owner registers how its metric is read."""
    metrics = Metrics()
    counts = {("page",): 2.0, ("patch",): 5.0}
    metrics.read("evertable_frames_sent_total", lambda: counts)
    metrics.read("evertable_sockets", lambda: 3)
    metrics.swapped("published", 0.3)
    metrics.swapped("published", 3)
    counts[("page",)] = 3
    text = metrics.text().decode()
    assert samples(text, "evertable_frames_sent_total") == counts
    assert samples(text, "evertable_sockets") == {(): 3}
    assert samples(text, "evertable_swap_seconds_count") == {("published",): 2}
    assert samples(text, "evertable_swap_seconds_sum") == {("published",): 3.3}


def test_a_reader_that_fails(caplog: pytest.LogCaptureFixture) -> None:
    """Only its own metric is missing, and the error is logged."""
    metrics = Metrics()

    def failing() -> float:
        raise ValueError("not today")

    metrics.read("evertable_sockets", failing)
    metrics.read("evertable_subscriptions", lambda: 1)
    text = metrics.text().decode()
    assert (samples(text, "evertable_sockets"), samples(text, "evertable_subscriptions")) == ({}, {(): 1})
    assert "The metric evertable_sockets could not be read." in caplog.text


def test_unknown_names() -> None:
    """A misspelt one would go unnoticed."""
    for name in ("evertable_socket", "evertable_swap_seconds"):
        with pytest.raises(ValueError, match="there is no metric"):
            Metrics().read(name, lambda: 1)


def test_names_of_tables_with_odd_characters(serve: Serve) -> None:
    """They are escaped."""
    catalog = Catalog(['a"b\\c ü'])
    catalog.publish(1, {'a"b\\c ü': table()})
    assert samples(httpx.get(f"{serve(catalog).url}/metrics").text, "evertable_table_rows") == {('a"b\\c ü',): 3}
