package dev.evertable;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

/** The bytes of a changelog record, as docs/CHANGELOG-FORMAT.md lays them out. */
final class Changelog {
  static final int VERSION = 3;
  static final int ROW = 1, MATCHES = 2, REJECT = 3, BATCH = 4, BARRIER = 5, QUARANTINE = 6;
  static final int NONE = 0, IDS = 1, IDS_WITH_TIMESTAMPS = 2, QUARANTINED = 3;
  static final int HEADER = 28;
  static final int CHANNEL = 16, BARRIER_ENTRY = 16; // of a barrier: bucket and partition, each with their number; then offsets
  static final int MAX_KEY = 1000; // bytes of a quarantined key
  static final int OFFSET_BITS = 44;
  static final int MAX_PARTITION = 1 << 19;
  static final long MAX_OFFSET = 1L << OFFSET_BITS;

  private static final VarHandle LONG = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
  private static final VarHandle INT = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.LITTLE_ENDIAN);

  private Changelog() {}

  static int getInt(byte[] from, int at) { return (int) INT.get(from, at); }
  static long getLong(byte[] from, int at) { return (long) LONG.get(from, at); }
  static void putLong(byte[] to, int at, long value) { LONG.set(to, at, value); }
  static void putInt(byte[] to, int at, int value) { INT.set(to, at, value); }

  static void header(byte[] to, int kind, int side, int mode, int count, int partition, long offset, long timestamp) {
    to[0] = VERSION;
    to[1] = (byte) kind;
    to[2] = (byte) side;
    to[3] = (byte) mode;
    putInt(to, 4, count);
    putLong(to, 8, offset);
    putLong(to, 16, timestamp);
    putInt(to, 24, partition);
  }

  /** Says that bucket {@code bucket} of {@code buckets} has got all that was read before these offsets. */
  static byte[] barrier(int bucket, int buckets, Offsets reached) {
    int at = HEADER + CHANNEL;
    byte[] record = new byte[at + BARRIER_ENTRY * reached.positions.size()];
    header(record, BARRIER, 0, 0, reached.positions.size(), 0, 0, 0);
    putInt(record, HEADER, bucket);
    putInt(record, HEADER + 4, buckets);
    for (var each : reached.positions.entrySet()) {
      putInt(record, at, each.getKey().source());
      putInt(record, at + 4, each.getKey().partition());
      putLong(record, at + 8, each.getValue().offset());
      at += BARRIER_ENTRY;
    }
    return record;
  }

  /** The same row, of a key that is quarantined. */
  static byte[] quarantined(byte[] row) {
    byte[] record = row.clone();
    record[3] = QUARANTINED;
    return record;
  }

  /** Says that a key has too many matches, and that these are rows of it. */
  static byte[] quarantine(byte[] key, int side, long[] ids, int count) {
    int named = Math.min(key.length, MAX_KEY), at = HEADER + 4 + named;
    byte[] record = new byte[at + 8 * count];
    header(record, QUARANTINE, side, 0, count, 0, 0, 0);
    putInt(record, HEADER, named);
    System.arraycopy(key, 0, record, HEADER + 4, named);
    for (int i = 0; i < count; i++) putLong(record, at + 8 * i, ids[i]);
    return record;
  }

  static boolean isBarrier(byte[] record) { return record[1] == BARRIER; }

  /** The barrier for one of the changelog's partitions. */
  static byte[] barrierIn(byte[] barrier, int partition, int partitions) {
    byte[] record = barrier.clone();
    putInt(record, HEADER + 8, partition);
    putInt(record, HEADER + 12, partitions);
    return record;
  }

  static int side(byte[] record) { return record[2]; }
  static long timestamp(byte[] record) { return getLong(record, 16); }

  /** The row's id: partition and offset in one number that sorts like the two. */
  static long id(byte[] record) { return (long) getInt(record, 24) << OFFSET_BITS | getLong(record, 8); }

  /** The row's own record with the first matches behind its columns. */
  static byte[] withMatches(byte[] row, int mode, long[] words, int count) {
    return append(Arrays.copyOf(row, row.length + 8 * words(mode, count)), row.length, mode, words, count);
  }

  /** A record of further matches of that row. */
  static byte[] moreMatches(byte[] row, int mode, long[] words, int count) {
    byte[] record = Arrays.copyOf(Arrays.copyOf(row, HEADER), HEADER + 8 * words(mode, count));
    record[1] = MATCHES;
    return append(record, HEADER, mode, words, count);
  }

  private static int words(int mode, int count) { return mode == IDS ? count : 2 * count; }

  private static byte[] append(byte[] record, int at, int mode, long[] words, int count) {
    record[3] = (byte) mode;
    putInt(record, 4, count);
    for (int i = 0, n = words(mode, count); i < n; i++) putLong(record, at + 8 * i, words[i]);
    return record;
  }
}
