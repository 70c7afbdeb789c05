package dev.evertable;

import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.streaming.MapState;
import org.apache.spark.sql.streaming.OutputMode;
import org.apache.spark.sql.streaming.StatefulProcessor;
import org.apache.spark.sql.streaming.TTLConfig;
import org.apache.spark.sql.streaming.TimeMode;
import org.apache.spark.sql.streaming.TimerValues;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The keyed operator: lets each row pass through and attaches the ids of the rows that it matches.
 *
 * <p>Rows come in packs, each of them of one bucket, that is of the keys that one state partition has. Spark's own cost of
 * a row, as large as that of joining it, is paid once for a pack.
 */
public final class KeyedJoin extends StatefulProcessor<Integer, Row, byte[]> {
  private static final long serialVersionUID = 1;
  private static final int MAX_MATCHES = 5000; // of one record, so that a row with a million matches makes no huge message
  private static final int MAX_KNOWN = 1 << 17; // keys in memory: about 40 MB of a task
  private static final int RECORDS = 1; // the column behind the bucket

  private final Join join;
  private final long maxMatches; // a key with more is quarantined
  private transient MapState<byte[], byte[]> members; // of each key its two sets of rows, or the roots of their trees
  private transient MapState<byte[], byte[]> blocks; // the blocks of those trees, by key and number
  private transient long[] words, ahead; // matches of the record to write, and of the one behind it
  private transient Map<Key, Members> known; // what changed of them is written at the next barrier
  private transient Message message;
  private transient Integer only; // bucket: what waits to be written belongs to it

  private KeyedJoin(Join join, long maxMatches) {
    this.join = join;
    this.maxMatches = maxMatches;
  }

  /** The join of packs (bucket, records) as changelog messages; called by the plan. */
  public static Dataset<byte[]> join(Dataset<Row> packs, String type, long maxMatches) {
    return packs.groupBy("bucket").as(Encoders.INT(), Encoders.row(packs.schema()))
        .transformWithState(new KeyedJoin(Join.named(type), maxMatches), TimeMode.None(), OutputMode.Update(), Encoders.BINARY());
  }

  @Override public void init(OutputMode output, TimeMode time) {
    members = getHandle().getMapState("members", Encoders.BINARY(), Encoders.BINARY(), TTLConfig.NONE());
    blocks = getHandle().getMapState("blocks", Encoders.BINARY(), Encoders.BINARY(), TTLConfig.NONE());
    words = new long[MAX_MATCHES];
    ahead = new long[MAX_MATCHES];
    known = new HashMap<>();
    message = new Message();
  }

  @Override public scala.collection.Iterator<byte[]> handleInputRows(Integer bucket, scala.collection.Iterator<Row> packs, TimerValues timers) {
    if (only == null) only = bucket;
    if (!only.equals(bucket)) throw new IllegalStateException("a state partition has two buckets, " + only + " and " + bucket);
    return CollectionConverters.asScala(new Joining(packs));
  }

  /**
   * Packs as messages, each row behind those of its matches that do not fit into its own record. The state is written at
   * barriers: the last record of an epoch is one, or the epoch fails.
   */
  private final class Joining implements Iterator<byte[]> {
    private final scala.collection.Iterator<Row> packs;
    private Pack.Cursor pack; // null between packs
    private byte[] row; // that still has to come, null between rows
    private Matches matches;
    private int count; // matches of it that wait in `words`
    private final Deque<byte[]> facts = new ArrayDeque<>(); // about a key that was quarantined just now
    private byte[] held; // a record that the message before this one did not take

    Joining(scala.collection.Iterator<Row> packs) { this.packs = packs; }

    @Override public boolean hasNext() { return pack != null || packs.hasNext(); }

    @Override public byte[] next() {
      if (pack == null) pack = new Pack.Cursor((byte[]) packs.next().get(RECORDS));
      if (held != null) message.add(held);
      held = null;
      for (byte[] record = record(); ; record = record()) {
        if (record == null) {
          if (known.size() > MAX_KNOWN) writeState();
          pack = null;
          return message.finish();
        }
        if (!message.takes(record)) {
          held = record;
          return message.finish();
        }
        message.add(record);
      }
    }

    /** The pack's next changelog record, null at its end. */
    private byte[] record() {
      if (!facts.isEmpty()) return facts.poll();
      if (row == null) {
        if (!pack.next()) return null;
        if (pack.key == null) {
          if (Changelog.isBarrier(pack.record)) writeState();
          return pack.record; // nothing to match, nothing to remember
        }
        takeIn(pack.key, pack.record);
      }
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

    private void takeIn(byte[] keyBytes, byte[] next) {
      Members of = known.computeIfAbsent(new Key(keyBytes), KeyedJoin.this::read);
      row = next;
      count = 0;
      matches = Matches.NONE;
      if (!of.isQuarantined()) {
        long timestamp = Changelog.timestamp(row), id = Changelog.id(row);
        matches = Changelog.side(row) == 0 ? join.left(of.left, of.right, timestamp, id) : join.right(of.left, of.right, timestamp, id);
        if (join.matches(of.left.count(), of.right.count()) > maxMatches) quarantine(keyBytes, of);
      }
      if (of.isQuarantined()) {
        row = Changelog.quarantined(row);
        matches = Matches.NONE;
      }
      count = matches.take(words, MAX_MATCHES);
    }

    /** Forgets a key's rows, and states which they were: their matches are already in the changelog. */
    private void quarantine(byte[] key, Members of) {
      addFacts(key, 0, of.left.all());
      addFacts(key, 1, of.right.all());
      of.quarantine();
    }

    private void addFacts(byte[] key, int side, RowSet.Cursor rows) {
      int ids = 0;
      while (rows.next()) {
        ahead[ids++] = rows.id();
        if (ids == MAX_MATCHES) {
          facts.add(Changelog.quarantine(key, side, ahead, ids));
          ids = 0;
        }
      }
      if (ids > 0) facts.add(Changelog.quarantine(key, side, ahead, ids));
    }
  }

  /** Writes what changed, and forgets all: the next barrier would otherwise look for changes among ever more keys. */
  private void writeState() {
    known.forEach((key, of) -> {
      if (of.changed()) members.updateValue(key.bytes, of.state());
    });
    known.clear();
  }

  private Members read(Key key) { return new Members(join, members.getValue(key.bytes), new KeyBlocks(key.bytes)); }

  private record Key(byte[] bytes) {
    @Override public boolean equals(Object other) { return other instanceof Key key && Arrays.equals(bytes, key.bytes); }

    @Override public int hashCode() { return Arrays.hashCode(bytes); }
  }

  private final class KeyBlocks implements RowSet.Blocks {
    private final byte[] key;

    KeyBlocks(byte[] key) { this.key = key; }

    @Override public byte[] get(long number) { return blocks.getValue(numbered(number)); }

    @Override public void put(long number, byte[] block) { blocks.updateValue(numbered(number), block); }

    @Override public void remove(long number) { blocks.removeKey(numbered(number)); }

    private byte[] numbered(long number) {
      byte[] bytes = Arrays.copyOf(key, key.length + 8); // the number has one length, so no two of these are alike
      Changelog.putLong(bytes, key.length, number);
      return bytes;
    }
  }
}
