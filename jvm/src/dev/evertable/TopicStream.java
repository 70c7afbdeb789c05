package dev.evertable;

import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReadMaxRows;
import org.apache.spark.sql.connector.read.streaming.SupportsAdmissionControl;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeMode;
import org.apache.spark.sql.internal.SQLConf;

/**
 * The driver's side of the source. In real-time mode it never talks to Kafka, so that nothing between two epochs waits
 * for a broker: readers find new partitions themselves. Micro-batches need their ends before they begin.
 */
final class TopicStream implements MicroBatchStream, SupportsAdmissionControl, SupportsRealTimeMode {
  private static final int MAX_ROWS = 200_000; // of a micro-batch, so that a backlog fits into memory
  private static final Duration TIMEOUT = Duration.ofSeconds(10);

  private final ReadPlan plan;
  private final Map<Map<String, Object>, KafkaConsumer<byte[], byte[]>> consumers = new HashMap<>();
  private boolean isFirst = true; // until an epoch of this start has ended

  TopicStream(ReadPlan plan) { this.plan = plan; }

  /** One reader's share of an epoch; {@code ends} is null in real-time mode. */
  record Share(int reader, Offsets start, Offsets ends) implements InputPartition {}

  private record Factory(ReadPlan plan, int buckets, boolean endsWithBacklog) implements PartitionReaderFactory {
    @Override public PartitionReader<InternalRow> createReader(InputPartition partition) {
      return new TopicReader(plan, (Share) partition, buckets, endsWithBacklog);
    }
  }

  @Override public PartitionReaderFactory createReaderFactory() {
    // What the query's first start has written into its checkpoint, whatever the session says by now.
    String buckets = SQLConf.get().getConfString("spark.sql.streaming.internal.stateStore.partitions");
    return new Factory(plan, Integer.parseInt(buckets), isFirst);
  }

  @Override public Offset initialOffset() { return plan.start; }

  @Override public Offset deserializeOffset(String json) { return Offsets.parse(json); }

  @Override public InputPartition[] planInputPartitions(Offset start) { return shares((Offsets) start, null); }

  @Override public InputPartition[] planInputPartitions(Offset start, Offset end) {
    return shares((Offsets) start, (Offsets) end);
  }

  private InputPartition[] shares(Offsets start, Offsets ends) {
    InputPartition[] shares = new InputPartition[plan.readers];
    for (int reader = 0; reader < shares.length; reader++) {
      Offsets own = ends == null ? null : share(ends, reader);
      shares[reader] = new Share(reader, share(start, reader), own);
    }
    return shares;
  }

  private Offsets share(Offsets of, int reader) {
    Offsets share = new Offsets(of.positions);
    share.positions.keySet().removeIf(at -> at.reader(plan.readers) != reader);
    return share;
  }

  /** Called at the end of each real-time epoch; a reader may have reported twice. */
  @Override public Offset mergeOffsets(PartitionOffset[] offsets) {
    isFirst = false;
    Offsets merged = new Offsets(Map.of());
    for (PartitionOffset each : offsets) merged.positions.putAll(((Offsets) each).positions);
    return merged;
  }

  @Override public ReadLimit getDefaultReadLimit() { return ReadLimit.maxRows(MAX_ROWS); }

  @Override public Offset latestOffset() { throw new UnsupportedOperationException("latestOffset(start, limit) is called instead"); }

  @Override public Offset latestOffset(Offset start, ReadLimit limit) {
    TreeMap<SourcePartition, Position> from = ((Offsets) start).positions, ends = new TreeMap<>();
    for (int source = 0; source < plan.topics.length; source++) {
      int number = source;
      KafkaConsumer<byte[], byte[]> consumer = consumers.computeIfAbsent(plan.kafka[source], Clients::consumer);
      List<PartitionInfo> partitions = consumer.partitionsFor(plan.topics[source], TIMEOUT);
      List<TopicPartition> topic = partitions.stream().map(each -> new TopicPartition(each.topic(), each.partition())).toList();
      consumer.endOffsets(topic, TIMEOUT).forEach((at, end) -> ends.put(new SourcePartition(number, at.partition()), new Position(end)));
    }
    long most = limit instanceof ReadMaxRows rows ? rows.maxRows() : Long.MAX_VALUE, total = 0;
    for (var end : ends.entrySet()) total += Math.max(0, end.getValue().offset() - begin(from, end.getKey()));
    double part = total <= most ? 1 : (double) most / total;
    ends.replaceAll((at, end) -> {
      long begin = begin(from, at), size = Math.max(0, end.offset() - begin);
      return new Position(begin + (long) Math.ceil(size * part));
    });
    return new Offsets(ends);
  }

  private static long begin(TreeMap<SourcePartition, Position> from, SourcePartition at) {
    Position begin = from.get(at);
    return begin == null ? 0 : begin.offset();
  }

  @Override public void commit(Offset end) {}

  @Override public void stop() {
    consumers.values().forEach(consumer -> consumer.close(Duration.ofSeconds(1)));
  }

  @Override public String toString() { return "Topics" + List.of(plan.topics); }
}
