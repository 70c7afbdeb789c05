package dev.evertable;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.PartitionInfo;
import org.apache.spark.sql.ForeachWriter;
import org.apache.spark.sql.Row;

/**
 * Writes messages to the changelog, with a producer that outlives epochs. An epoch fails if any of its messages was not
 * acknowledged.
 */
public final class ChangelogWriter extends ForeachWriter<Row> {
  private static final long serialVersionUID = 1;
  static final Held<Output> HELD = new Held<>();

  private final String query;
  private final String topic;
  private final Map<String, Object> kafka;
  private transient String key;
  private transient Output output;

  /** A writer to this topic for the query of this name, with these properties of Kafka's producer. */
  public ChangelogWriter(String query, String topic, Map<String, String> kafka) {
    this.query = query;
    this.topic = topic;
    this.kafka = new HashMap<>(kafka);
  }

  @Override public boolean open(long partition, long epoch) {
    key = query + "/" + partition;
    output = HELD.take(key);
    if (output == null) output = new Output(topic, kafka);
    return true;
  }

  @Override public void process(Row row) { output.write((byte[]) row.get(0)); }

  @Override public void close(Throwable failure) {
    if (output == null) return;
    Output used = output;
    output = null;
    boolean isSound = false;
    try {
      if (failure == null) {
        used.flush();
        isSound = true;
      }
    } finally {
      if (isSound) HELD.put(key, used);
      else HELD.drop(key, used);
    }
  }

  static final class Output implements AutoCloseable {
    private final String topic;
    private final KafkaProducer<byte[], byte[]> producer;
    private final Map<Integer, Long> acknowledged = new ConcurrentHashMap<>(); // the last offset, by partition
    private volatile RuntimeException failure;

    Output(String topic, Map<String, Object> kafka) {
      this.topic = topic;
      producer = Clients.producer(kafka);
    }

    void write(byte[] message) {
      if (Changelog.isBarrier(message)) {
        writeBarrier(message);
      } else {
        failIfAnyFailed();
        send(new ProducerRecord<>(topic, message));
      }
    }

    /** All that was written before must be there: after a time-out the producer would send what comes behind a lost message. */
    private void writeBarrier(byte[] barrier) {
      flush();
      List<PartitionInfo> partitions = producer.partitionsFor(topic);
      for (PartitionInfo each : partitions) {
        byte[] message = Changelog.barrierIn(barrier, each.partition(), partitions.size());
        send(new ProducerRecord<>(topic, each.partition(), null, message));
      }
    }

    private void send(ProducerRecord<byte[], byte[]> record) {
      producer.send(record, (metadata, error) -> {
        if (error != null) fail(error);
        else check(metadata);
      });
    }

    void flush() {
      producer.flush();
      failIfAnyFailed();
    }

    private void failIfAnyFailed() {
      if (failure != null) throw new IllegalStateException("The changelog was not written: " + failure, failure);
    }

    private void fail(Exception error) {
      if (failure == null) failure = error instanceof RuntimeException known ? known : new IllegalStateException(error);
    }

    /** Offsets only grow, unless the topic was created again or has lost what was acknowledged. */
    private void check(RecordMetadata metadata) {
      if (!metadata.hasOffset()) return;
      Long last = acknowledged.put(metadata.partition(), metadata.offset());
      if (last != null && last >= metadata.offset()) fail(new ChangelogLostException(topic, metadata.partition(), last, metadata.offset()));
    }

    @Override public void close() { producer.close(Duration.ZERO); }
  }
}
