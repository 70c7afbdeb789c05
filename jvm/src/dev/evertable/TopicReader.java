package dev.evertable;

import java.io.IOException;
import java.util.Arrays;
import java.util.TreeMap;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeRead;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.hash.Murmur3_x86_32;

/**
 * Reads any number of partitions, parses their records, and packs those that are there at once: a row of Spark's is what
 * was fetched together, as one pack for each bucket of the join, and nothing waits for anything.
 *
 * <p>A row for each record would cost as much in Spark, in Kafka and in the changelog's reader as all of the work on it.
 * A row must hold all packs of its records: an epoch may end behind any row, and offsets know of records only.
 *
 * <p>At the end of the backlog and of each epoch it sends a barrier to every bucket: all that it had read until then is
 * in the changelog before it. It ends an epoch itself, well before Spark would, so that the barrier always comes first.
 */
final class TopicReader implements SupportsRealTimeRead<InternalRow> {
  static final Held<Intake> HELD = new Held<>();

  private static final int FULL = 48 << 10; // bytes of a pack: with one record more it fits into a buffer of the shuffle
  private static final int SEED = 42; // of Spark's hash partitioning
  private static final long POLL_MS = 1_000;

  private final ReadPlan plan;
  private final TopicStream.Share share;
  private final boolean isFirstEpoch;
  private final String key;
  private final Intake intake;
  private final StrictParser[] parsers;
  private final int[] buckets;
  private final Pack[] packs;
  private final TreeMap<SourcePartition, Long> backlog; // what is left of it: the end of each partition
  private final long endNs;
  private boolean inBacklog;
  private Offsets announced; // by the last barrier; null if the next one is due whatever was read
  private boolean closed;
  private InternalRow row;
  private long begunNs = System.nanoTime(); // the pack before

  /** A reader for so many buckets; the first epoch after a start ends as soon as the backlog was read. */
  TopicReader(ReadPlan plan, TopicStream.Share share, int buckets, boolean isFirstEpoch) {
    this.plan = plan;
    this.share = share;
    this.isFirstEpoch = isFirstEpoch;
    this.buckets = numbers(buckets);
    parsers = Arrays.stream(plan.layouts).map(StrictParser::new).toArray(StrictParser[]::new);
    packs = new Pack[buckets];
    Arrays.setAll(packs, i -> new Pack());
    endNs = System.nanoTime() + plan.epochMs * 1_000_000;
    key = plan.query + "/" + share.reader();
    intake = takeOver();
    backlog = new TreeMap<>(plan.backlogEnds);
    backlog.keySet().removeIf(at -> at.reader(plan.readers) != share.reader());
    inBacklog = isFirstEpoch || !isBacklogRead();
    announced = isFirstEpoch ? null : share.start();
  }

  /** The consumers of the epoch before, where they are at this one's start; new ones otherwise. */
  private Intake takeOver() {
    Intake held = HELD.take(key);
    if (held != null && share.ends() == null && held.isAt(share.start())) return held;
    if (held != null) held.close();
    return new Intake(plan, share);
  }

  /** For each bucket a number that Spark's hash partitioning sends there. */
  private static int[] numbers(int buckets) {
    int[] numbers = new int[buckets];
    boolean[] found = new boolean[buckets];
    for (int number = 0, missing = buckets; missing > 0; number++) {
      int bucket = Math.floorMod(Murmur3_x86_32.hashInt(number, SEED), buckets);
      if (found[bucket]) continue;
      found[bucket] = true;
      numbers[bucket] = number;
      missing--;
    }
    return numbers;
  }

  @Override public RecordStatus nextWithTimeout(Long timeoutMs) throws IOException {
    return RecordStatus.newStatusWithoutArrivalTime(advance(timeoutMs));
  }

  /** For micro-batches, which end by offsets. */
  @Override public boolean next() throws IOException {
    while (!hasReached(share.ends())) {
      if (intake.await(POLL_MS)) return fill();
    }
    return announce();
  }

  @Override public InternalRow get() { return row; }

  @Override public PartitionOffset getOffset() { return intake.offsets(); }

  @Override public void close() {
    if (closed) return;
    closed = true;
    if (share.ends() == null && intake.isSound()) HELD.put(key, intake);
    else HELD.drop(key, intake);
  }

  private boolean advance(long timeoutMs) throws IOException {
    long deadline = Math.min(endNs, System.nanoTime() + timeoutMs * 1_000_000);
    while (true) {
      if (inBacklog && isBacklogRead()) {
        inBacklog = false;
        if (announce()) return true;
      }
      if (isFirstEpoch && (plan.isEager || !inBacklog) || System.nanoTime() >= endNs) return announce();
      long left = deadline - System.nanoTime();
      if (intake.await(Math.max(0, left / 1_000_000))) return fill();
      if (left <= 0 && deadline < endNs) return false; // Spark's own end of the epoch, which is later
    }
  }

  private boolean isBacklogRead() {
    backlog.entrySet().removeIf(end -> intake.offset(end.getKey()) >= end.getValue());
    return backlog.isEmpty();
  }

  private boolean hasReached(Offsets ends) {
    return ends.positions.entrySet().stream().allMatch(end -> intake.offset(end.getKey()) >= end.getValue().offset());
  }

  /** Makes the next row of what is there at once. */
  private boolean fill() throws IOException {
    if (inBacklog && System.currentTimeMillis() < plan.throttledUntilMs) Pace.restAfter(System.nanoTime() - begunNs);
    begunNs = System.nanoTime();
    if (!inBacklog) Pace.sawNews();
    while (add(intake.next()) < FULL && intake.await(0));
    row = packed();
    return true;
  }

  /** Parses a record and puts it into the pack of its key's bucket; returns how large that is now. */
  private int add(ConsumerRecord<byte[], byte[]> record) {
    StrictParser parser = parsers[intake.source()];
    byte[] parsed = parser.parse(record.value(), record.key(), record.partition(), record.offset(), record.timestamp());
    byte[] joinKey = parser.key();
    int hash = joinKey == null ? (int) record.offset()
        : Murmur3_x86_32.hashUnsafeBytes(joinKey, Platform.BYTE_ARRAY_OFFSET, joinKey.length, SEED);
    Pack pack = packs[Math.floorMod(hash, packs.length)];
    pack.add(joinKey, parsed);
    return pack.size();
  }

  /** Makes the next row a barrier for each bucket; false if the last one said the same. */
  private boolean announce() {
    Offsets reached = intake.offsets();
    if (reached.equals(announced)) return false;
    announced = reached;
    for (int bucket = 0; bucket < packs.length; bucket++) packs[bucket].add(null, Changelog.barrier(bucket, packs.length, reached));
    row = packed();
    return true;
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
