"""Specs of generations that need no Kafka."""

from __future__ import annotations

from evertable.engine.spec import GenerationSpec, SourceSpec, Trigger
from evertable.schema.columns import Column, ColumnType, RecordField
from evertable.schema.joins import JoinType


def source(partitions: int) -> SourceSpec:
    columns = (
        Column("id", ColumnType.parse("decimal(20, 3)")),
        Column("at", ColumnType.parse("timestamp"), RecordField.TIMESTAMP),
    )
    start = {partition: 5_000_000_000 + partition for partition in range(partitions)}
    backlog_ends = {partition: offset + 7 for partition, offset in start.items() if partition}
    return SourceSpec("s", "t", "id", columns, start, {"bootstrap.servers": "localhost:9092"}, backlog_ends)


def spec(trigger: Trigger = "realtime", readers: int = 7, number: int = 7) -> GenerationSpec:
    kafka = {"bootstrap.servers": "localhost:9092"}
    return GenerationSpec(
        number, source(3), source(4), JoinType.ASOF, "c", kafka, 2_000_000, "/c", trigger, readers=readers
    )
