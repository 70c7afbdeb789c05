package dev.evertable;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InterruptException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * Consumes and parses partitions of one Kafka cluster on a thread of its own, ahead of the reader and also between two
 * epochs.
 *
 * <p>It follows the topics' metadata: a partition that is created later is read from its beginning within seconds. Any
 * failure is passed to the reader and ends the thread.
 */
final class Fetcher implements Runnable {
  private static final Duration POLL = Duration.ofSeconds(1), CLOSE = Duration.ofSeconds(1);
  private static final Duration CACHED = Duration.ofMillis(50), ANSWER = Duration.ofSeconds(1); // the other topics wait meanwhile
  private static final long DISCOVERY_MS = 2_000;

  /** A row, null without a record, and where to read on behind it; or why nothing comes any more. */
  record Fetched(InternalRow row, Map<SourcePartition, Position> next, Throwable failure) {}

  private final Map<String, Object> properties;
  private final Map<String, Integer> sources = new HashMap<>(); // by topic
  private final TopicStream.Share share;
  private final int readers;
  private final Packer packer;
  private final BlockingQueue<Fetched> queue;
  private final Map<SourcePartition, Position> ends; // null without an end
  private final Set<TopicPartition> assigned = new HashSet<>();
  private final Thread thread = new Thread(this, "evertable-fetcher");
  private volatile boolean closed;

  Fetcher(Map<String, Object> properties, TopicStream.Share share, int readers, Packer packer, BlockingQueue<Fetched> queue) {
    this.properties = properties;
    this.share = share;
    this.readers = readers;
    this.packer = packer;
    this.queue = queue;
    ends = share.ends() == null ? null : share.ends().positions;
    thread.setDaemon(true);
  }

  /** Whether it can fetch this source as well: one consumer reads a topic once. */
  boolean takes(Map<String, Object> kafka, String topic) { return kafka.equals(properties) && !sources.containsKey(topic); }

  void add(int source, String topic) { sources.put(topic, source); }

  void start() { thread.start(); }

  /** Ends the thread soon, without waiting for it. */
  void close() {
    closed = true;
    thread.interrupt();
  }

  @Override public void run() {
    try (KafkaConsumer<byte[], byte[]> consumer = Clients.consumer(properties)) {
      try {
        fetch(consumer);
      } finally {
        Thread.interrupted(); // closing must not fail
        consumer.close(CLOSE);
      }
    } catch (InterruptException | WakeupException e) {
      if (!closed) report(e);
    } catch (InterruptedException e) {
      // closed
    } catch (Throwable e) { // without a report the reader would wait for ever
      report(e);
    }
  }

  private void report(Throwable failure) {
    try {
      queue.put(new Fetched(null, Map.of(), failure));
    } catch (InterruptedException e) {
      // closed
    }
  }

  private void fetch(KafkaConsumer<byte[], byte[]> consumer) throws InterruptedException {
    Map<SourcePartition, Position> own = new HashMap<>(), begin = share.start().positions;
    for (SourcePartition at : ends == null ? begin.keySet() : ends.keySet()) {
      if (sources.containsValue(at.source())) own.put(at, begin.get(at));
    }
    assign(consumer, own);
    long discovery = System.nanoTime();
    while (!closed) {
      if (ends == null && System.nanoTime() > discovery) {
        discover(consumer);
        discovery = System.nanoTime() + DISCOVERY_MS * 1_000_000;
      }
      if (assigned.isEmpty()) {
        Thread.sleep(POLL.toMillis());
        continue;
      }
      ConsumerRecords<byte[], byte[]> records = consumer.poll(POLL);
      if (!records.nextOffsets().isEmpty()) pass(consumer, records);
    }
  }

  /** Hands what one poll brought to the reader, in one row or a few; offsets behind the last record may have none. */
  private void pass(KafkaConsumer<byte[], byte[]> consumer, ConsumerRecords<byte[], byte[]> records) throws InterruptedException {
    Map<SourcePartition, Position> next = new HashMap<>();
    for (ConsumerRecord<byte[], byte[]> record : records) {
      SourcePartition at = new SourcePartition(sources.get(record.topic()), record.partition());
      if (ends != null && record.offset() >= ends.get(at).offset()) continue;
      next.put(at, new Position(record.offset() + 1, record.leaderEpoch().orElse(Position.UNKNOWN)));
      if (!packer.add(at.source(), record)) continue;
      queue.put(new Fetched(packer.take(), next, null));
      next = new HashMap<>();
    }
    for (var each : records.nextOffsets().entrySet()) {
      SourcePartition at = partition(each.getKey());
      Position position = new Position(each.getValue());
      if (ends != null && position.offset() >= ends.get(at).offset()) {
        position = ends.get(at);
        consumer.pause(List.of(each.getKey()));
      }
      next.put(at, position);
    }
    queue.put(new Fetched(packer.take(), next, null));
  }

  private SourcePartition partition(TopicPartition at) { return new SourcePartition(sources.get(at.topic()), at.partition()); }

  /** Assigns more partitions; those without a position are read from their beginning. */
  private void assign(KafkaConsumer<byte[], byte[]> consumer, Map<SourcePartition, Position> more) {
    Map<TopicPartition, Position> found = new HashMap<>();
    List<TopicPartition> fresh = new ArrayList<>();
    sources.forEach((topic, source) -> more.forEach((at, position) -> {
      if (at.source() != source) return;
      TopicPartition there = new TopicPartition(topic, at.partition());
      if (position == null) fresh.add(there);
      else found.put(there, position);
    }));
    if (!fresh.isEmpty()) consumer.beginningOffsets(fresh, ANSWER).forEach((at, offset) -> found.put(at, new Position(offset)));
    assigned.addAll(found.keySet());
    consumer.assign(assigned); // keeps the positions of those that it has
    found.forEach((at, position) -> consumer.seek(at, position.toSeek()));
  }

  /** Assigns the partitions that were created meanwhile and belong to this reader. The metadata is mostly cached. */
  private void discover(KafkaConsumer<byte[], byte[]> consumer) {
    Map<SourcePartition, Position> created = new HashMap<>();
    try {
      for (String topic : sources.keySet()) {
        for (PartitionInfo info : consumer.partitionsFor(topic, CACHED)) {
          TopicPartition at = new TopicPartition(topic, info.partition());
          if (!assigned.contains(at) && partition(at).reader(readers) == share.reader()) created.put(partition(at), null);
        }
      }
      if (!created.isEmpty()) assign(consumer, created);
    } catch (TimeoutException e) {
      // asked again soon
    }
  }
}
