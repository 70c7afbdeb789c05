package dev.evertable;

/** The rows of one key, of both sides, as its state holds them; of a quarantined key only that it is one. */
final class Members {
  private static final byte QUARANTINED = -2; // where a set has its number of rows, or that it is a tree
  private static final byte[] QUARANTINE = {QUARANTINED};

  final RowSet left, right;
  private boolean isQuarantined, wasQuarantined;

  /** Of a key's state, or of none if that is null. */
  Members(Join join, byte[] state, RowSet.Blocks blocks) {
    left = new RowSet(blocks, 0, join.timedLeft);
    right = new RowSet(blocks, 1, join.timedRight);
    isQuarantined = wasQuarantined = state != null && state[0] == QUARANTINED;
    if (state != null && !isQuarantined) right.read(state, left.read(state, 0));
  }

  boolean isQuarantined() { return isQuarantined; }

  /** Forgets the rows; from now on there are none. */
  void quarantine() {
    isQuarantined = true;
    left.free();
    right.free();
  }

  boolean changed() { return isQuarantined ? !wasQuarantined : left.changed() || right.changed(); }

  byte[] state() {
    wasQuarantined = isQuarantined;
    if (isQuarantined) return QUARANTINE;
    byte[] state = new byte[left.size() + right.size()];
    right.write(state, left.write(state, 0));
    return state;
  }
}
