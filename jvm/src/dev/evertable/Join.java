package dev.evertable;

import java.util.Locale;

/** What each join remembers of a key's rows and which rows a new one matches; results do not depend on arrival order. */
enum Join {
  /** Every pair of rows with the same key. */
  INNER(false, false) {
    @Override Matches left(RowSet left, RowSet right, long timestamp, long id) {
      left.add(0, id);
      return Matches.all(right);
    }

    @Override Matches right(RowSet left, RowSet right, long timestamp, long id) {
      right.add(0, id);
      return Matches.all(left);
    }

    @Override long matches(long left, long right) { return left * right; }
  },

  /** The same pairs; a left row without any is the reader's to show. */
  LEFT(false, false) {
    @Override Matches left(RowSet left, RowSet right, long timestamp, long id) { return INNER.left(left, right, timestamp, id); }

    @Override Matches right(RowSet left, RowSet right, long timestamp, long id) { return INNER.right(left, right, timestamp, id); }

    @Override long matches(long left, long right) { return left * right; }
  },

  /** Each left row with the newest right row: the right set holds that one alone. */
  NATURAL(false, true) {
    @Override Matches left(RowSet left, RowSet right, long timestamp, long id) {
      left.add(0, id);
      return Matches.one(right.floor(Long.MAX_VALUE, Long.MAX_VALUE));
    }

    @Override Matches right(RowSet left, RowSet right, long timestamp, long id) {
      RowSet.Cursor newer = right.floor(timestamp, id);
      if (newer.next()) return Matches.NONE;
      right.replace(timestamp, id);
      return Matches.all(left);
    }

    @Override long matches(long left, long right) { return left; }
  },

  /** Each right row with the newest left row that is not younger: a late left row takes over those up to its successor. */
  ASOF(true, true) {
    @Override Matches left(RowSet left, RowSet right, long timestamp, long id) {
      RowSet.Cursor successor = left.floor(timestamp, id);
      long end = successor.next() ? successor.timestamp() : Long.MAX_VALUE;
      left.add(timestamp, id);
      return Matches.until(right.floor(timestamp, -1), end);
    }

    @Override Matches right(RowSet left, RowSet right, long timestamp, long id) {
      right.add(timestamp, id);
      return Matches.one(left.floor(timestamp, Long.MAX_VALUE));
    }

    @Override long matches(long left, long right) { return right; }
  };

  final boolean timedLeft, timedRight;

  Join(boolean timedLeft, boolean timedRight) {
    this.timedLeft = timedLeft;
    this.timedRight = timedRight;
  }

  /** Takes a left row in; returns the right rows that it matches. */
  abstract Matches left(RowSet left, RowSet right, long timestamp, long id);

  /** Takes a right row in; returns the left rows that it matches. */
  abstract Matches right(RowSet left, RowSet right, long timestamp, long id);

  /** How many matches a key with so many rows on each side has at most. */
  abstract long matches(long left, long right);

  static Join named(String name) { return valueOf(name.toUpperCase(Locale.ROOT)); }
}
