package dev.evertable;

import java.util.Arrays;

/**
 * Parsed records on their way to one bucket of the join, end to end: the key's length (-1 without a key), the record's
 * length, the key, the record.
 */
final class Pack {
  private static final int NO_KEY = -1, LENGTHS = 8, USUAL = 1 << 16;

  private byte[] bytes = new byte[1 << 10];
  private int size;

  int size() { return size; }

  void add(byte[] key, byte[] record) {
    int start = size, keyLength = key == null ? 0 : key.length, end = start + LENGTHS + keyLength + record.length;
    if (end > bytes.length) bytes = Arrays.copyOf(bytes, Math.max(end, 2 * bytes.length));
    Changelog.putInt(bytes, start, key == null ? NO_KEY : keyLength);
    Changelog.putInt(bytes, start + 4, record.length);
    if (key != null) System.arraycopy(key, 0, bytes, start + LENGTHS, keyLength);
    System.arraycopy(record, 0, bytes, end - record.length, record.length);
    size = end;
  }

  /** What was added since the last time. */
  byte[] take() {
    byte[] taken = Arrays.copyOf(bytes, size);
    size = 0;
    if (bytes.length > USUAL) bytes = new byte[USUAL]; // one large record is no reason to keep so much
    return taken;
  }

  /** A pack that is read record by record. */
  static final class Cursor {
    private final byte[] bytes;
    private int at;
    byte[] key; // null without one
    byte[] record;

    Cursor(byte[] bytes) { this.bytes = bytes; }

    /** Moves to the next record; false at the end. */
    boolean next() {
      if (at == bytes.length) return false;
      int keyLength = Changelog.getInt(bytes, at), recordLength = Changelog.getInt(bytes, at + 4);
      at += LENGTHS;
      key = keyLength == NO_KEY ? null : Arrays.copyOfRange(bytes, at, at += keyLength);
      record = Arrays.copyOfRange(bytes, at, at += recordLength);
      return true;
    }
  }
}
