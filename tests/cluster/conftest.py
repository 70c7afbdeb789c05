"""One cluster for the whole run, and an engine on it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cluster.spark_cluster import HOST, SparkCluster

from evertable.engine.launch import EngineSettings
from evertable.engine.process import Engine

SPARK = {
    "spark.driver.host": HOST,  # everything runs on this machine
    "spark.driver.bindAddress": HOST,
    "spark.driver.memory": "1g",
    "spark.executor.memory": "700m",
    "spark.sql.shuffle.partitions": "2",  # so that rows cross between executors
}

if "EVERTABLE_TEST_CLUSTER" not in os.environ:  # six JVMs and minutes: scripts/test --cluster
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    with SparkCluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture
def engine(cluster: SparkCluster, tmp_path: Path) -> Iterator[Engine]:
    with Engine(EngineSettings(cluster.url, SPARK, tmp_path / "spark.log")) as running:
        yield running
