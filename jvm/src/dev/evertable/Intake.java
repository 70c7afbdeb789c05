package dev.evertable;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.spark.sql.catalyst.InternalRow;

/** The rows of one reader, from any number of clusters, and how far it has taken them. It outlives epochs. */
final class Intake implements AutoCloseable {
  private static final int AHEAD = 8; // rows that wait for the reader

  private final BlockingQueue<Fetcher.Fetched> queue = new ArrayBlockingQueue<>(AHEAD);
  private final List<Fetcher> fetchers = new ArrayList<>();
  private final TreeMap<SourcePartition, Position> positions;
  private long moves;
  private boolean isSound = true;

  Intake(ReadPlan plan, TopicStream.Share share, int buckets) {
    positions = new TreeMap<>(share.start().positions);
    for (int source = 0; source < plan.topics.length; source++) {
      Map<String, Object> kafka = plan.kafka[source];
      String topic = plan.topics[source];
      Fetcher found = fetchers.stream().filter(each -> each.takes(kafka, topic)).findFirst().orElse(null);
      if (found == null) {
        found = new Fetcher(kafka, share, plan.readers, new Packer(plan, buckets), queue);
        fetchers.add(found);
      }
      found.add(source, topic);
    }
    fetchers.forEach(Fetcher::start);
  }

  /** The next offset of each partition that was not taken yet. */
  Offsets offsets() { return new Offsets(positions); }

  /** The next offset of a partition; 0 before anything is known of it. */
  long offset(SourcePartition at) {
    Position position = positions.get(at);
    return position == null ? 0 : position.offset();
  }

  /** How often positions have changed. */
  long moves() { return moves; }

  boolean isAt(Offsets start) { return positions.equals(start.positions); }

  /** Whether it may be used in another epoch: its fetchers have not failed. */
  boolean isSound() { return isSound; }

  /** Takes the next row; null if none came in time, or if only positions moved, over offsets without a record. */
  InternalRow take(long timeoutMs) throws IOException {
    Fetcher.Fetched next;
    try {
      next = queue.poll(timeoutMs, TimeUnit.MILLISECONDS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("the reader was stopped");
    }
    if (next == null) return null;
    if (next.failure() != null) {
      isSound = false;
      throw new IOException(next.failure().toString(), next.failure());
    }
    positions.putAll(next.next());
    moves++;
    return next.row();
  }

  @Override public void close() { fetchers.forEach(Fetcher::close); }
}
