package dev.evertable;

import java.util.Arrays;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.unsafe.hash.Murmur3_x86_32;

/**
 * Parses records and makes rows of Spark's from them: of those that are there at once, one pack for each bucket of the
 * join.
 *
 * <p>A row for each record would cost as much in Spark, in Kafka and in the changelog's reader as all of the work on it.
 * A row must hold all packs of its records: an epoch may end behind any row, and offsets know of records only.
 */
final class Packer {
  private static final int SEED = 42; // of Spark's hash partitioning

  private final StrictParser[] parsers;
  private final int[] buckets;
  private final Pack[] packs;
  private final int full; // bytes of a pack

  Packer(ReadPlan plan, int buckets) {
    parsers = Arrays.stream(plan.layouts).map(StrictParser::new).toArray(StrictParser[]::new);
    this.buckets = numbers(buckets);
    packs = new Pack[buckets];
    Arrays.setAll(packs, i -> new Pack());
    full = buckets == 1 ? 160 << 10 : 48 << 10; // with one record more it fits into a buffer of the shuffle
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

  /** Parses a record and puts it into the pack of its key's bucket; returns whether that is full. */
  boolean add(int source, ConsumerRecord<byte[], byte[]> record) {
    StrictParser parser = parsers[source];
    byte[] parsed = parser.parse(record.value(), record.key(), record.partition(), record.offset(), record.timestamp());
    byte[] key = parser.key();
    int hash = key == null ? (int) record.offset() : Murmur3_x86_32.hashUnsafeBytes(key, Platform.BYTE_ARRAY_OFFSET, key.length, SEED);
    Pack pack = packs[Math.floorMod(hash, packs.length)];
    pack.add(key, parsed);
    return pack.size() >= full;
  }

  /** The row of what was added since the last one; null if that is nothing. */
  InternalRow take() {
    Object[] filled = new Object[packs.length];
    int count = 0;
    for (int i = 0; i < packs.length; i++) {
      if (packs[i].size() > 0) filled[count++] = new GenericInternalRow(new Object[] {buckets[i], packs[i].take()});
    }
    return count == 0 ? null : new GenericInternalRow(new Object[] {new GenericArrayData(Arrays.copyOf(filled, count))});
  }

  /** A row with a barrier for each bucket. */
  InternalRow barrier(Offsets reached) {
    for (int bucket = 0; bucket < packs.length; bucket++) packs[bucket].add(null, Changelog.barrier(bucket, packs.length, reached));
    return take();
  }
}
