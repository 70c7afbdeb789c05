package dev.evertable;

/** The rows of the other side that a new row matches, read as they are wanted. */
final class Matches {
  static final Matches NONE = new Matches(Changelog.NONE, null, 0);

  final int mode;
  private final RowSet.Cursor cursor;
  private final long end;
  private boolean single;

  private Matches(int mode, RowSet.Cursor cursor, long end) {
    this.mode = mode;
    this.cursor = cursor;
    this.end = end;
    single = mode == Changelog.IDS_WITH_TIMESTAMPS;
  }

  /** All rows behind the cursor, as long as their timestamp is less than the end. */
  static Matches until(RowSet.Cursor cursor, long end) { return new Matches(Changelog.IDS, cursor, end); }

  /** All rows of the set. */
  static Matches all(RowSet rows) { return until(rows.all(), Long.MAX_VALUE); }

  /** The one row that the cursor stands on, with its timestamp; none if it stands on none. */
  static Matches one(RowSet.Cursor cursor) {
    return cursor.onEntry() ? new Matches(Changelog.IDS_WITH_TIMESTAMPS, cursor, 0) : NONE;
  }

  /** Fills the words with at most so many matches; returns how many, 0 when there are no more. */
  int take(long[] words, int most) {
    if (mode == Changelog.NONE) return 0;
    if (mode == Changelog.IDS_WITH_TIMESTAMPS) {
      if (!single) return 0;
      single = false;
      words[0] = cursor.id();
      words[1] = cursor.timestamp();
      return 1;
    }
    int count = 0;
    while (count < most && cursor.next() && cursor.timestamp() < end) words[count++] = cursor.id();
    return count;
  }
}
