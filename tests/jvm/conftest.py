"""A JVM with the operator's classes but without a Spark session, so that thousands of calls are cheap."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from evertable.changelog.changes import Changes
from evertable.changelog.decode import Decoder
from evertable.changelog.schema import ChangelogSchema
from evertable.engine.plan import column_layout
from evertable.install.java import find_java
from evertable.install.operator import operator_jar
from evertable.schema.columns import Column
from evertable.schema.joins import JoinType

Parse = Callable[..., Changes]


@pytest.fixture(scope="session")
def jvm() -> Iterator[Any]:
    from pyspark import SparkConf
    from pyspark.java_gateway import launch_gateway

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JAVA_HOME", str(find_java().home))
        conf = SparkConf(loadDefaults=False).set("spark.driver.extraClassPath", str(operator_jar()))
        gateway = launch_gateway(conf)  # type: ignore[no-untyped-call]
    yield gateway.jvm
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(timeout=10)


@pytest.fixture(scope="session")
def parser(jvm: Any) -> Callable[[Sequence[Column], str], Parse]:
    """Makes a parser of the left source, which returns the Changes of a record."""

    def make(columns: Sequence[Column], key: str, max_bytes: int = 1_000_000) -> Parse:
        layout = {"side": 0, "key": key, "max_bytes": max_bytes, "columns": [column_layout(c) for c in columns]}
        strict = jvm.dev.evertable.StrictParser(json.dumps(layout))
        decoder = Decoder(ChangelogSchema(tuple(columns), (), JoinType.INNER))

        def parse(
            value: bytes | None, record_key: bytes | None = None, partition: int = 0, offset: int = 0, ts: int = 0
        ) -> Changes:
            record = strict.parse(value, record_key, partition, offset, ts)
            parse.key = None if strict.key() is None else bytes(strict.key())  # type: ignore[attr-defined]
            return decoder.decode([bytes(record)])

        return parse

    return make
