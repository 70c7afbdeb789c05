package dev.evertable;

/** The rows of one key, of both sides, as its state holds them. */
final class Members {
  final RowSet left, right;

  /** Of a key's state, or of none if that is null. */
  Members(Join join, byte[] state, RowSet.Blocks blocks) {
    left = new RowSet(blocks, 0, join.timedLeft);
    right = new RowSet(blocks, 1, join.timedRight);
    if (state != null) right.read(state, left.read(state, 0));
  }

  boolean changed() { return left.changed() || right.changed(); }

  byte[] state() {
    byte[] state = new byte[left.size() + right.size()];
    right.write(state, left.write(state, 0));
    return state;
  }
}
