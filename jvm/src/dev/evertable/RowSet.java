package dev.evertable;

import java.util.Arrays;

/**
 * The rows of one key and one side, in order: packed into the key's own value while they are few, else a B+ tree.
 *
 * <p>An entry is a row's id, or its timestamp and id where the join goes by time. A tree keeps entries in blocks of at
 * most {@link #LEAF}, so that a key with a million rows costs a few small reads and one small write for each new row.
 * An inner block lists (least entry, block number) of its children. Rows are never removed, so blocks never merge.
 */
final class RowSet {
  /** Where a key's blocks are kept. */
  interface Blocks {
    byte[] get(long number);

    void put(long number, byte[] block);

    void remove(long number);
  }

  static final int INLINE = 32, LEAF = 64, FANOUT = 128;
  private static final int ROOT = 26; // bytes of a tree in the key's own value
  private static final byte TREE = -1;
  private static final byte[] EMPTY = new byte[0];

  private final Blocks blocks;
  private final int side;
  private final int width; // bytes of an entry: 8 for ids, 16 for (timestamp, id)
  private byte[] inline = EMPTY;
  private boolean tree;
  private int height; // 0 where the root is a leaf
  private long root, next, count; // of a tree
  private boolean changed;

  RowSet(Blocks blocks, int side, boolean timed) {
    this.blocks = blocks;
    this.side = side;
    width = timed ? 16 : 8;
  }

  /** Reads the set from a key's value; returns where it ended. */
  int read(byte[] value, int at) {
    tree = value[at] == TREE;
    if (!tree) {
      int end = at + 1 + value[at] * width;
      inline = Arrays.copyOfRange(value, at + 1, end);
      return end;
    }
    height = value[at + 1];
    root = Changelog.getLong(value, at + 2);
    next = Changelog.getLong(value, at + 10);
    count = Changelog.getLong(value, at + 18);
    return at + ROOT;
  }

  int size() { return tree ? ROOT : 1 + inline.length; }

  /** The number of rows. */
  long count() { return tree ? count : inline.length / width; }

  /** Frees the blocks; the set must not be used afterwards. */
  void free() {
    for (long number = 0; number < next; number++) blocks.remove(key(number));
  }

  /** Writes the set into a key's value; returns where it ended. */
  int write(byte[] value, int at) {
    changed = false;
    if (!tree) {
      value[at] = (byte) (inline.length / width);
      System.arraycopy(inline, 0, value, at + 1, inline.length);
      return at + 1 + inline.length;
    }
    value[at] = TREE;
    value[at + 1] = (byte) height;
    Changelog.putLong(value, at + 2, root);
    Changelog.putLong(value, at + 10, next);
    Changelog.putLong(value, at + 18, count);
    return at + ROOT;
  }

  boolean changed() { return changed; }

  void add(long timestamp, long id) {
    if (!tree && inline.length < INLINE * width) {
      inline = spliced(inline, width * position(inline, width, timestamp, id), entry(timestamp, id));
      changed = true;
      return;
    }
    if (!tree) {
      tree = changed = true;
      count = inline.length / width;
      root = put(inline);
      inline = EMPTY;
    }
    count++;
    changed = true;
    byte[] sibling = insert(root, height, timestamp, id);
    if (sibling == null) return;
    byte[] first = Arrays.copyOf(entry(Long.MIN_VALUE, Long.MIN_VALUE), width + 8); // nothing is less than the old root's rows
    Changelog.putLong(first, width, root);
    root = put(spliced(first, width + 8, sibling));
    height++;
    changed = true;
  }

  /** Makes the set hold this one row. */
  void replace(long timestamp, long id) {
    inline = entry(timestamp, id);
    changed = true;
  }

  /** A cursor on the last entry that is not behind (timestamp, id), or before the first. */
  Cursor floor(long timestamp, long id) { return new Cursor(timestamp, id); }

  /** A cursor before the first entry. */
  Cursor all() { return new Cursor(Long.MIN_VALUE, Long.MIN_VALUE); }

  /** Inserts below a block; returns (least entry, number) of a new right sibling if the block was full. */
  private byte[] insert(long number, int level, long timestamp, long id) {
    byte[] block = block(number);
    int stride = level == 0 ? width : width + 8;
    int at = position(block, stride, timestamp, id);
    if (level == 0) {
      block = spliced(block, at * stride, entry(timestamp, id));
    } else {
      int child = Math.max(at - 1, 0);
      byte[] sibling = insert(childOf(block, child), level - 1, timestamp, id);
      if (sibling == null) return null;
      at = child + 1;
      block = spliced(block, at * stride, sibling);
    }
    int count = block.length / stride;
    if (count <= (level == 0 ? LEAF : FANOUT)) {
      blocks.put(key(number), block);
      return null;
    }
    int cut = (at == count - 1 ? count - 1 : count / 2) * stride; // rows mostly come in order: then leave full blocks behind
    byte[] right = Arrays.copyOfRange(block, cut, block.length);
    blocks.put(key(number), Arrays.copyOf(block, cut));
    byte[] sibling = Arrays.copyOf(Arrays.copyOf(right, width), width + 8);
    Changelog.putLong(sibling, width, put(right));
    return sibling;
  }

  private long put(byte[] block) {
    changed = true;
    blocks.put(key(next), block);
    return next++;
  }

  private byte[] block(long number) { return blocks.get(key(number)); }

  private long key(long number) { return number << 1 | side; }

  private long childOf(byte[] block, int child) { return Changelog.getLong(block, child * (width + 8) + width); }

  private long timestamp(byte[] block, int at) { return width == 8 ? 0 : Changelog.getLong(block, at); }

  private long id(byte[] block, int at) { return Changelog.getLong(block, at + width - 8); }

  /** How many entries of the block are not behind (timestamp, id); without timestamps the id alone counts. */
  private int position(byte[] block, int stride, long timestamp, long id) {
    int low = 0, high = block.length / stride;
    while (low < high) {
      int middle = (low + high) >>> 1, at = middle * stride;
      long time = width == 8 ? timestamp : Changelog.getLong(block, at);
      boolean behind = time != timestamp ? time > timestamp : id(block, at) > id;
      if (behind) high = middle; else low = middle + 1;
    }
    return low;
  }

  private byte[] entry(long timestamp, long id) {
    byte[] entry = new byte[width];
    if (width == 16) Changelog.putLong(entry, 0, timestamp);
    Changelog.putLong(entry, width - 8, id);
    return entry;
  }

  private static byte[] spliced(byte[] block, int at, byte[] part) {
    byte[] result = Arrays.copyOf(block, block.length + part.length);
    System.arraycopy(part, 0, result, at, part.length);
    System.arraycopy(block, at, result, at + part.length, block.length - at);
    return result;
  }

  /** A place in the set that moves forward; it reads one block at a time. */
  final class Cursor {
    private final byte[][] path = new byte[height + 1][]; // from the leaf (0) to the root
    private final int[] at = new int[height + 1];

    private Cursor(long timestamp, long id) {
      byte[] block = tree ? block(root) : inline;
      for (int level = height; level > 0; level--) {
        path[level] = block;
        at[level] = Math.max(position(block, width + 8, timestamp, id) - 1, 0);
        block = block(childOf(block, at[level]));
      }
      path[0] = block;
      at[0] = position(block, width, timestamp, id) - 1;
    }

    boolean onEntry() { return at[0] >= 0; }

    long timestamp() { return RowSet.this.timestamp(path[0], at[0] * width); }

    long id() { return RowSet.this.id(path[0], at[0] * width); }

    /** Moves to the next entry; false at the end. */
    boolean next() {
      if (++at[0] < path[0].length / width) return true;
      int level = 1;
      while (level <= height && at[level] + 1 >= path[level].length / (width + 8)) level++;
      if (level > height) return false;
      at[level]++;
      for (; level > 0; level--) {
        path[level - 1] = block(childOf(path[level], at[level]));
        at[level - 1] = 0;
      }
      return true;
    }
  }
}
