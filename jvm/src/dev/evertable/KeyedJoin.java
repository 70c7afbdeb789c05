package dev.evertable;

import java.util.Iterator;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import org.apache.spark.sql.streaming.ValueState;
import scala.jdk.javaapi.CollectionConverters;

/** The keyed operator: lets each row pass through and attaches the ids of the rows that it matches. */
public final class KeyedJoin extends StatefulProcessor<byte[], Row, byte[]> {
  private static final long serialVersionUID = 1;
  private static final int MAX_MATCHES = 5000; // of one record, so that a row with a million matches makes no huge message
  private static final int RECORD = 1; // the column behind the key

  private final Join join;
  private transient ValueState<byte[]> members; // a key's two sets of rows, or the roots of their trees
  private transient MapState<Long, byte[]> blocks; // the blocks of those trees
  private transient long[] words, ahead; // matches of the record to write, and of the one behind it

  private KeyedJoin(Join join) { this.join = join; }

  /** The join of rows (key, record) as changelog records; called by the plan. */
  public static Dataset<byte[]> join(Dataset<Row> rows, String type) {
    return rows.groupBy("key").as(Encoders.BINARY(), Encoders.row(rows.schema()))
        .transformWithState(new KeyedJoin(Join.named(type)), TimeMode.None(), OutputMode.Update(), Encoders.BINARY());
  }

  @Override public void init(OutputMode output, TimeMode time) {
    members = getHandle().getValueState("members", Encoders.BINARY(), TTLConfig.NONE());
    blocks = getHandle().getMapState("blocks", Encoders.LONG(), Encoders.BINARY(), TTLConfig.NONE());
    words = new long[MAX_MATCHES];
    ahead = new long[MAX_MATCHES];
  }

  @Override public scala.collection.Iterator<byte[]> handleInputRows(byte[] key, scala.collection.Iterator<Row> rows, TimerValues timers) {
    boolean keyless = key[0] == 0; // no key or a reject: nothing to match, nothing to remember
    return CollectionConverters.asScala(keyless ? new PassThrough(rows) : new Matching(rows));
  }

  private record PassThrough(scala.collection.Iterator<Row> rows) implements Iterator<byte[]> {
    @Override public boolean hasNext() { return rows.hasNext(); }

    @Override public byte[] next() { return (byte[]) rows.next().get(RECORD); }
  }

  /**
   * One key's rows, each behind those of its matches that do not fit into its own record: who has seen a row has seen
   * its matches. The key's state is read at the start and written at the end.
   */
  private final class Matching implements Iterator<byte[]> {
    private final scala.collection.Iterator<Row> rows;
    private final RowSet left = new RowSet(blocks, 0, join.timedLeft);
    private final RowSet right = new RowSet(blocks, 1, join.timedRight);
    private byte[] row; // that still has to come, null between rows
    private Matches matches;
    private int count; // matches of it that wait in `words`

    Matching(scala.collection.Iterator<Row> rows) {
      this.rows = rows;
      byte[] value = members.get();
      if (value != null) right.read(value, left.read(value, 0));
    }

    @Override public boolean hasNext() {
      if (row != null || rows.hasNext()) return true;
      save();
      return false;
    }

    @Override public byte[] next() {
      if (row == null) takeIn((byte[]) rows.next().get(RECORD));
      int further = count < MAX_MATCHES ? 0 : matches.take(ahead, MAX_MATCHES);
      byte[] record;
      if (further > 0) {
        record = Changelog.moreMatches(row, matches.mode, words, count);
        long[] taken = words;
        words = ahead;
        ahead = taken;
        count = further;
      } else {
        record = count == 0 ? row : Changelog.withMatches(row, matches.mode, words, count);
        row = null;
      }
      return record;
    }

    private void takeIn(byte[] next) {
      row = next;
      long timestamp = Changelog.timestamp(row), id = Changelog.id(row);
      matches = Changelog.side(row) == 0 ? join.left(left, right, timestamp, id) : join.right(left, right, timestamp, id);
      count = matches.take(words, MAX_MATCHES);
    }

    private void save() {
      if (!left.changed() && !right.changed()) return;
      byte[] value = new byte[left.size() + right.size()];
      right.write(value, left.write(value, 0));
      members.update(value);
    }
  }
}
