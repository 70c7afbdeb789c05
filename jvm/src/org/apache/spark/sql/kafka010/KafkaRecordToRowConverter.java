package org.apache.spark.sql.kafka010;

import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.expressions.codegen.UnsafeRowWriter;
import org.apache.spark.unsafe.types.UTF8String;
import scala.Function1;

/**
 * Stands in for the connector's class of this name, which ends the query at a record whose timestamp overflows in
 * microseconds (a producer that gave nanoseconds is enough): one bad record would kill a table for good.
 *
 * <p>Such a timestamp becomes the greatest that fits, and the parser rejects the record by it. Ours is found first
 * because its jar comes first; where it does not, the connector's own is used and the query's failure says what
 * happened. Headers are not supported, as the plan never asks for them.
 */
public class KafkaRecordToRowConverter {
  private static final int FIELDS = 7; // key, value, topic, partition, offset, timestamp, timestampType
  private static final long MAX_MILLIS = Long.MAX_VALUE / 1000;

  private final UnsafeRowWriter writer = new UnsafeRowWriter(FIELDS);
  private UTF8String topic = UTF8String.EMPTY_UTF8;
  private String topicName = "";

  public Function1<ConsumerRecord<byte[], byte[]>, UnsafeRow> toUnsafeRowProjector(boolean includeHeaders) {
    if (includeHeaders) throw new UnsupportedOperationException("Evertable's Kafka source reads no headers");
    return this::toRow;
  }

  public Function1<ConsumerRecord<byte[], byte[]>, UnsafeRow> toUnsafeRowWithoutHeadersProjector() { return this::toRow; }

  public Function1<ConsumerRecord<byte[], byte[]>, InternalRow> toInternalRowWithoutHeaders() { return record -> toRow(record).copy(); }

  private UnsafeRow toRow(ConsumerRecord<byte[], byte[]> record) {
    if (!topicName.equals(record.topic())) {
      topicName = record.topic();
      topic = UTF8String.fromString(topicName);
    }
    writer.reset();
    writer.zeroOutNullBytes();
    writeBytes(0, record.key());
    writeBytes(1, record.value());
    writer.write(2, topic);
    writer.write(3, record.partition());
    writer.write(4, record.offset());
    writer.write(5, Math.max(-MAX_MILLIS, Math.min(MAX_MILLIS, record.timestamp())) * 1000);
    writer.write(6, record.timestampType().id);
    return writer.getRow();
  }

  private void writeBytes(int field, byte[] bytes) {
    if (bytes == null) writer.setNullAt(field);
    else writer.write(field, bytes);
  }
}
