"""Spark, pyspark and py4j still have every non-public symbol that ``engine/spark_internals.py`` uses.

These tests start no Spark. On an upgrade of pyspark they fail first, and name the missing symbol.
"""

from __future__ import annotations

import inspect
import json
import re
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock
from zipfile import ZipFile

import pytest
from py4j.protocol import Py4JNetworkError
from pyspark import SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql.classic.dataframe import DataFrame
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

import evertable
from evertable.engine import failures, spark_internals
from evertable.install.ivy import pyspark_jars
from evertable.install.operator import operator_jar


@cache
def class_file(name: str) -> bytes:
    """The bytes of a class of Spark, or of our operator."""
    entry = f"{name.replace('.', '/')}.class"
    for jar in [operator_jar(), *pyspark_jars().glob("spark-*.jar")]:
        with ZipFile(jar) as opened:
            if entry in opened.namelist():
                return opened.read(entry)
    return b""


@cache
def all_classes(jar: str) -> bytes:
    [path] = pyspark_jars().glob(jar)
    with ZipFile(path) as opened:
        return b"".join(opened.read(name) for name in opened.namelist() if name.endswith(".class"))


def constant(text: str) -> bytes:
    """A text as it stands in the constant pool of a class, with its tag and length."""
    return b"\x01" + len(text).to_bytes(2) + text.encode()


def test_no_other_module_uses_them() -> None:
    """Nor may any other set what Spark does not document."""
    private = re.compile(
        r"\._(jvm|jsc|jdf|jsq|jwrite|jsparkSession|gateway|ensure_initialized)\b|py4j|spark\.shuffle\.streaming"
    )
    package = Path(evertable.__file__).parent
    users = {path.name for path in package.rglob("*.py") if private.search(code_of(path))}
    assert users == {"spark_internals.py"}


def code_of(path: Path) -> str:
    return re.sub(r"#.*", "", path.read_text())


@pytest.mark.parametrize(
    ("java_class", "method"),
    [
        ("org.apache.spark.api.java.JavaSparkContext", "sc"),
        ("org.apache.spark.SparkContext", "maxNumConcurrentTasks"),
        ("org.apache.spark.SparkContext", "resourceProfileManager"),
        ("org.apache.spark.resource.ResourceProfileManager", "defaultResourceProfile"),
        ("org.apache.spark.sql.streaming.StreamingQuery", "exception"),
        ("org.apache.spark.sql.Dataset", "toDF"),
        ("org.apache.spark.unsafe.hash.Murmur3_x86_32", "hashInt"),
        ("org.apache.spark.unsafe.hash.Murmur3_x86_32", "hashUnsafeBytes"),
        ("org.apache.spark.unsafe.Platform", "BYTE_ARRAY_OFFSET"),
        ("org.apache.spark.sql.catalyst.expressions.GenericInternalRow", "values"),
        ("org.apache.spark.sql.catalyst.util.GenericArrayData", "array"),
        ("org.apache.spark.sql.internal.SQLConf$", "get"),
        ("org.apache.spark.sql.internal.SQLConf", "getConfString"),
        ("dev.evertable.KeyedJoin", "join"),
        ("dev.evertable.EndedQuery", "release"),
        ("org.apache.spark.sql.streaming.DataStreamWriter", "foreach"),
    ],
)
def test_a_java_method_exists(java_class: str, method: str) -> None:
    assert constant(method) in class_file(java_class)


@pytest.mark.parametrize("name", [*spark_internals.SETTINGS, *spark_internals.LOCAL_SETTINGS])
def test_an_undocumented_setting_exists(name: str) -> None:
    jars = ("spark-core_*.jar", "spark-catalyst_*.jar", "spark-sql_*.jar")
    assert any(constant(name) in all_classes(jar) for jar in jars)


def test_the_number_of_state_partitions_is_a_setting() -> None:
    """``TopicStream`` reads it; no setting of ours, since the checkpoint has it."""
    assert constant("spark.sql.streaming.internal.stateStore.partitions") in all_classes("spark-catalyst_*.jar")


def test_pyspark_writers_wrap_a_java_writer_as_jwrite() -> None:
    assert "_jwrite" in inspect.getsource(DataStreamWriter.__init__)


def test_the_checkpoint_file_manager_exists() -> None:
    assert class_file(spark_internals.SETTINGS["spark.sql.streaming.checkpointFileManagerClass"])


def test_error_conditions_exist() -> None:
    """Failed queries are classified by these names (``engine/failures.py``)."""
    [jar] = pyspark_jars().glob("spark-common-utils_*.jar")
    with ZipFile(jar) as opened:
        conditions = json.loads(opened.read("error/error-conditions.json"))
    for name in (
        "CONCURRENT_SCHEDULER_INSUFFICIENT_SLOT",
        "CANNOT_LOAD_STATE_STORE",
        "STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE",
    ):
        assert name in conditions
        assert not failures.classify(f"[{name}]").condition.startswith("QUERY_FAILED")


def test_spark_context_ensure_initialized_takes_a_conf() -> None:
    assert "conf" in inspect.signature(SparkContext._ensure_initialized).parameters


@pytest.mark.parametrize("attribute", ["_gateway", "_jvm"])
def test_spark_context_has(attribute: str) -> None:
    assert attribute in SparkContext.__annotations__


def test_spark_context_jsc_is_the_java_context() -> None:
    assert "self._jsc = jsc or self._initialize_context(" in inspect.getsource(SparkContext._do_init)


def test_gateway_proc_is_the_jvm() -> None:
    assert "gateway.proc = proc" in inspect.getsource(launch_gateway)


def test_dataframe_wraps_a_java_dataset_as_jdf() -> None:
    dataset = object()
    assert DataFrame(dataset, Mock())._jdf is dataset


def test_streaming_query_jsq_is_the_java_query() -> None:
    query: Any = object()
    assert StreamingQuery(query)._jsq is query


def test_trigger_knows_real_time() -> None:
    assert "realTime" in inspect.signature(DataStreamWriter.trigger).parameters


def test_py4j_network_error_is_raised_when_the_jvm_is_gone() -> None:
    assert Py4JNetworkError in spark_internals.connection_errors()


class JavaError(SimpleNamespace):
    """An exception of the JVM, as py4j shows it."""

    def getCause(self) -> JavaError | None:  # noqa: N802 - Java's name
        cause: JavaError | None = self.cause
        return cause

    def toString(self) -> str:  # noqa: N802 - Java's name
        return str(self.text)


def test_the_causes_of_an_error_are_listed_from_the_outside_in() -> None:
    inner = JavaError(text="disk full", cause=None)
    error = JavaError(text="query failed", cause=JavaError(text="task failed", cause=inner))
    java_query: Any = Mock(**{"exception.return_value.get.return_value": error})
    assert spark_internals.causes(StreamingQuery(java_query)) == ["task failed", "disk full"]
    assert spark_internals.causes(StreamingQuery(java_query), at_most=1) == ["task failed"]
