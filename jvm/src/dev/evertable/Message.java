package dev.evertable;

import java.util.Arrays;

/** The changelog message that is being filled: one record as it is, or a batch of them. */
final class Message {
  private static final int ROOM = 1 << 18; // a changelog takes at least 2 MB; larger ones are not faster

  private byte[] records = new byte[ROOM];
  private int[] ends = new int[64];
  private int count;

  /** Whether one more fits; the first always does. */
  boolean takes(byte[] record) { return count == 0 || ends[count - 1] + record.length <= ROOM; }

  void add(byte[] record) {
    int start = count == 0 ? 0 : ends[count - 1], end = start + record.length;
    if (end > records.length) records = Arrays.copyOf(records, end);
    if (count == ends.length) ends = Arrays.copyOf(ends, 2 * count);
    System.arraycopy(record, 0, records, start, record.length);
    ends[count++] = end;
  }

  /** The message's bytes; the next one begins empty. */
  byte[] finish() {
    int size = ends[count - 1];
    byte[] message;
    if (count == 1) {
      message = Arrays.copyOf(records, size);
    } else {
      int table = Changelog.HEADER + 4 * count;
      message = new byte[table + size];
      Changelog.header(message, Changelog.BATCH, 0, 0, count, 0, 0, 0);
      for (int i = 0; i < count; i++) Changelog.putInt(message, Changelog.HEADER + 4 * i, ends[i]);
      System.arraycopy(records, 0, message, table, size);
    }
    count = 0;
    if (records.length > ROOM) records = new byte[ROOM];
    return message;
  }
}
