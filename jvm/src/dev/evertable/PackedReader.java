package dev.evertable;

import java.io.IOException;
import java.util.Arrays;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeRead;
import org.apache.spark.sql.kafka010.KafkaSourcePartitionOffset;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.hash.Murmur3_x86_32;

/**
 * Reads a partition's records, parses them, and packs those that are there at once: a row of Spark's is what one poll
 * brought, as one pack for each bucket of the join, and nothing waits for anything.
 *
 * <p>A row for each record would cost as much in Spark, in Kafka and in the changelog's reader as all of the work on it.
 * A row must hold all packs of its records: an epoch may end behind any row, and offsets know of records only.
 */
final class PackedReader implements SupportsRealTimeRead<InternalRow> {
  private static final int FULL = 48 << 10; // bytes of a pack: with one record more it fits into a buffer of the shuffle
  private static final int KEY = 0, VALUE = 1, PARTITION = 3, OFFSET = 4, TIMESTAMP = 5; // in the connector's rows
  private static final int SEED = 42; // of Spark's hash partitioning
  private static final long AT_ONCE = 0;

  private final SupportsRealTimeRead<InternalRow> kafka;
  private final StrictParser parser;
  private final int[] buckets;
  private final Pack[] packs;
  private final long pacedUntilMs;
  private final long last; // offset of what the topic held at the build
  private final boolean endsWithPast;
  private InternalRow row;
  private boolean ended;
  private boolean isPast; // whether more is to come of what the topic held at the build
  private long begun = System.nanoTime(); // the pack before

  private PackedReader(SupportsRealTimeRead<InternalRow> kafka, SourceLayout layout, int[] buckets, boolean endsWithPast) {
    this.kafka = kafka;
    this.buckets = buckets;
    parser = new StrictParser(layout);
    pacedUntilMs = layout.pacedUntilMs;
    var start = (KafkaSourcePartitionOffset) kafka.getOffset();
    last = layout.past.getOrDefault(start.topicPartition().partition(), -1L);
    isPast = start.partitionOffset() <= last;
    this.endsWithPast = endsWithPast;
    packs = new Pack[buckets.length];
    Arrays.setAll(packs, i -> new Pack());
  }

  /** With {@code endsWithPast} its readers have no more records once they have read what the topic held at the build. */
  record Factory(PartitionReaderFactory kafka, SourceLayout layout, int shufflePartitions, boolean endsWithPast)
      implements PartitionReaderFactory {
    @Override public PartitionReader<InternalRow> createReader(InputPartition partition) {
      @SuppressWarnings("unchecked") var records = (SupportsRealTimeRead<InternalRow>) kafka.createReader(partition);
      return new PackedReader(records, layout, buckets(shufflePartitions), endsWithPast);
    }
  }

  /** For each shuffle partition a number that Spark sends there. */
  private static int[] buckets(int shufflePartitions) {
    int[] buckets = new int[shufflePartitions];
    boolean[] found = new boolean[shufflePartitions];
    for (int bucket = 0, missing = shufflePartitions; missing > 0; bucket++) {
      int partition = Math.floorMod(Murmur3_x86_32.hashInt(bucket, SEED), shufflePartitions);
      if (found[partition]) continue;
      found[partition] = true;
      buckets[partition] = bucket;
      missing--;
    }
    return buckets;
  }

  @Override public RecordStatus nextWithTimeout(Long startTimeMs, Long timeoutMs) throws IOException {
    if (endsWithPast && !isPast) return RecordStatus.newStatusWithoutArrivalTime(false);
    pause();
    RecordStatus first = kafka.nextWithTimeout(startTimeMs, timeoutMs);
    if (!first.hasRecord()) return first;
    while (add(kafka.get()) < FULL && kafka.nextWithTimeout(startTimeMs, AT_ONCE).hasRecord());
    row = packed();
    return first;
  }

  /** For micro-batches, which have an end. */
  @Override public boolean next() throws IOException {
    pause();
    if (ended || (ended = !kafka.next())) return false; // asked once more behind its end, the connector would ask Kafka
    while (add(kafka.get()) < FULL && !(ended = !kafka.next()));
    row = packed();
    return true;
  }

  @Override public InternalRow get() { return row; }

  @Override public PartitionOffset getOffset() { return kafka.getOffset(); }

  @Override public CustomTaskMetric[] currentMetricsValues() { return kafka.currentMetricsValues(); }

  @Override public void close() throws IOException { kafka.close(); }

  /** Reads what the topic held at the build no faster than those can bear who watch another generation, if any do. */
  private void pause() throws IOException {
    if (isPast && System.currentTimeMillis() < pacedUntilMs) Pace.restAfter(System.nanoTime() - begun);
    begun = System.nanoTime();
  }

  /** Parses a record and puts it into the pack of its key's bucket; returns how large that is now. */
  private int add(InternalRow record) {
    long offset = record.getLong(OFFSET);
    isPast = offset < last;
    if (offset > last) Pace.sawNews();
    byte[] parsed = parser.parse(record.getBinary(VALUE), record.getBinary(KEY), record.getInt(PARTITION), offset,
        Math.floorDiv(record.getLong(TIMESTAMP), 1000L));
    byte[] key = parser.key();
    int hash = key == null ? (int) offset : Murmur3_x86_32.hashUnsafeBytes(key, Platform.BYTE_ARRAY_OFFSET, key.length, SEED);
    Pack pack = packs[Math.floorMod(hash, packs.length)];
    pack.add(key, parsed);
    return pack.size();
  }

  private InternalRow packed() {
    Object[] filled = new Object[packs.length];
    int count = 0;
    for (int i = 0; i < packs.length; i++) {
      if (packs[i].size() > 0) filled[count++] = new GenericInternalRow(new Object[] {buckets[i], packs[i].take()});
    }
    return new GenericInternalRow(new Object[] {new GenericArrayData(Arrays.copyOf(filled, count))});
  }
}
