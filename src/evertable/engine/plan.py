"""One generation as one Spark query: read and parse, union, join, write."""

from __future__ import annotations

import json
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as every PySpark program calls it
from pyspark.sql.streaming.query import StreamingQuery

from evertable.engine import spark_internals
from evertable.engine.spec import GenerationSpec, SourceSpec
from evertable.schema.columns import Column

SOURCE = "dev.evertable.PackedKafka"
LEFT, RIGHT = 0, 1

# What a changelog message needs beside the row: 5,000 matches of 8 bytes and Kafka's own overhead.
MATCHES_ALLOWANCE = 64 * 1024

ANSWERS = {"request.timeout.ms": "10000"}  # a dead connection is noticed by this alone; Kafka's default is 30 s
READER = {**ANSWERS, "max.poll.records": "20000"}  # in a catch-up, Kafka's 500 would mean forty times as many polls
READER_ALWAYS = {
    "isolation.level": "read_committed",  # as the build counted when it looked for each partition's last record
    "allow.auto.create.topics": "false",  # asking for a topic must not make it
}
WRITER = {**ANSWERS, "linger.ms": "2", "batch.size": "262144"}
BUFFER_BYTES = 64 * 1024 * 1024
WRITER_ALWAYS = {"acks": "all", "enable.idempotence": "true"}  # a lost or doubled record cannot be mended later


def start(spark: SparkSession, spec: GenerationSpec) -> StreamingQuery:
    """Starts the generation's query; it runs until it is stopped or fails."""
    packs = read(spark, spec, spec.left, LEFT).union(read(spark, spec, spec.right, RIGHT))
    return write(join(spark, packs, spec), spec)


def read(spark: SparkSession, spec: GenerationSpec, source: SourceSpec, side: int) -> DataFrame:
    """The topic's records from the offsets that the build found, parsed: packs of rows and rejects for each bucket."""
    reader = (
        spark.readStream.format(SOURCE)
        .option("layout", json.dumps(layout(spec, source, side)))
        .option("subscribe", source.topic)
        .option("startingOffsets", json.dumps({source.topic: source.start}))
        .option("failOnDataLoss", "true")
        .options(**kafka({**READER, **source.kafka, **READER_ALWAYS}))
    )
    if spec.trigger == "microbatch":
        reader = reader.option("maxOffsetsPerTrigger", 200_000)  # keeps a catch-up's batches in memory
    return reader.load().select(F.inline("packs"))


def join(spark: SparkSession, packs: DataFrame, spec: GenerationSpec) -> DataFrame:
    """Joins both sides into changelog messages: each row with the ids it matches."""
    return spark_internals.keyed_join(spark, packs, spec.join.value).toDF("value")


def write(changes: DataFrame, spec: GenerationSpec) -> StreamingQuery:
    """The changes, into the generation's changelog."""
    own = {
        "client.id": producer_id(spec.generation),
        "max.request.size": str(spec.max_message_bytes),
        "buffer.memory": str(max(BUFFER_BYTES, 2 * spec.max_message_bytes)),
    }
    writer = (
        changes.writeStream.format("kafka")
        .queryName(f"generation-{spec.generation}")
        .outputMode("update")
        .option("topic", spec.changelog_topic)
        .option("checkpointLocation", spec.checkpoint)
        .options(**kafka({**WRITER, **spec.changelog_kafka, **WRITER_ALWAYS, **own}))
    )
    interval = f"{spec.interval_s} seconds"
    if spec.trigger == "microbatch":
        return writer.trigger(processingTime=interval).start()
    return writer.trigger(realTime=interval).start()  # type: ignore[call-overload, no-any-return]  # pyspark's stubs do not know `realTime` yet


def producer_id(generation: int) -> str:
    """The client id of the generation's producer: a producer of its own, so that it is closed when its query ends."""
    return f"evertable-generation-{generation}"


def kafka(properties: dict[str, str]) -> dict[str, str]:
    """Kafka properties as the connector's options."""
    return {f"kafka.{name}": value for name, value in properties.items()}


def layout(spec: GenerationSpec, source: SourceSpec, side: int) -> dict[str, Any]:
    """One source, as the parser wants it described."""
    return {
        "side": side,
        "key": source.key,
        "max_bytes": spec.max_message_bytes - MATCHES_ALLOWANCE,
        "columns": [column_layout(column) for column in source.columns],
        "past": source.past,
        "paced_until_ms": spec.paced_until_ms,
    }


def column_layout(column: Column) -> dict[str, str | int]:
    """One column, as the parser wants it described."""
    return {
        "name": column.name,
        "type": column.type.kind.value,
        "precision": column.type.precision,
        "scale": column.type.scale,
        "from": column.record_field.value.removeprefix("kafka.") if column.record_field else "json",
    }
