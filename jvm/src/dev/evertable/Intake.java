package dev.evertable;

import java.io.IOException;
import java.io.InterruptedIOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecord;

/** The records of one reader, from any number of clusters, and how far it has consumed them. It outlives epochs. */
final class Intake implements AutoCloseable {
  private static final int AHEAD = 2; // polls that wait for the reader

  private final BlockingQueue<Fetcher.Fetched> queue = new ArrayBlockingQueue<>(AHEAD);
  private final List<Fetcher> fetchers = new ArrayList<>();
  private final TreeMap<SourcePartition, Position> positions;
  private Fetcher.Fetched fetched;
  private Iterator<ConsumerRecord<byte[], byte[]>> records = Collections.emptyIterator();
  private int source;
  private boolean isSound = true;

  Intake(ReadPlan plan, TopicStream.Share share) {
    positions = new TreeMap<>(share.start().positions);
    Map<SourcePartition, Position> ends = share.ends() == null ? null : share.ends().positions;
    for (int source = 0; source < plan.topics.length; source++) {
      Map<String, Object> kafka = plan.kafka[source];
      String topic = plan.topics[source];
      Fetcher found = fetchers.stream().filter(each -> each.takes(kafka, topic)).findFirst().orElse(null);
      if (found == null) {
        found = new Fetcher(kafka, share.start().positions, ends, at -> at.reader(plan.readers) == share.reader(), queue);
        fetchers.add(found);
      }
      found.add(source, topic);
    }
    fetchers.forEach(Fetcher::start);
  }

  /** The next offset of each partition that is not consumed yet. */
  Offsets offsets() { return new Offsets(positions); }

  /** The next offset of a partition; 0 before anything is known of it. */
  long offset(SourcePartition at) {
    Position position = positions.get(at);
    return position == null ? 0 : position.offset();
  }

  boolean isAt(Offsets start) { return positions.equals(start.positions); }

  /** Whether it may be used in another epoch: its fetchers have not failed. */
  boolean isSound() { return isSound; }

  /** Waits for a record; false if none came in time. Positions may have moved all the same, over offsets without one. */
  boolean await(long timeoutMs) throws IOException {
    if (records.hasNext()) return true;
    Fetcher.Fetched next;
    try {
      next = timeoutMs > 0 ? queue.poll(timeoutMs, TimeUnit.MILLISECONDS) : queue.poll();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("the reader was stopped");
    }
    if (next == null) return false;
    if (next.failure() != null) {
      isSound = false;
      throw new IOException(next.failure().toString(), next.failure());
    }
    fetched = next;
    records = next.records().iterator();
    skipGap();
    return records.hasNext();
  }

  /** The record that was awaited. */
  ConsumerRecord<byte[], byte[]> next() {
    ConsumerRecord<byte[], byte[]> record = records.next();
    source = fetched.source(record);
    positions.put(new SourcePartition(source, record.partition()), new Position(record.offset() + 1, record.leaderEpoch().orElse(-1)));
    skipGap();
    return record;
  }

  /** The source of the record that came last. */
  int source() { return source; }

  /** Behind the last record there may be offsets without one, such as the marker of a transaction. */
  private void skipGap() {
    if (!records.hasNext()) positions.putAll(fetched.next());
  }

  @Override public void close() { fetchers.forEach(Fetcher::close); }
}
