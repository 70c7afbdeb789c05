package dev.evertable;

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.function.Predicate;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.InterruptException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.errors.WakeupException;

/**
 * Consumes partitions of one Kafka cluster on a thread of its own, ahead of the reader and also between two epochs.
 *
 * <p>It follows the topics' metadata: a partition that is created later is read from its beginning within seconds. Any
 * failure is passed to the reader and ends the thread.
 */
final class Fetcher implements Runnable {
  private static final Duration POLL = Duration.ofSeconds(1), CLOSE = Duration.ofSeconds(1);
  private static final Duration CACHED = Duration.ofMillis(50), ANSWER = Duration.ofSeconds(1); // the other topics wait meanwhile
  private static final long DISCOVERY_MS = 2_000;

  /** What one poll brought: records, and where to read on behind them; or why nothing comes any more. */
  record Fetched(Map<String, Integer> sources, Iterable<ConsumerRecord<byte[], byte[]>> records,
      Map<SourcePartition, Position> next, Throwable failure) {
    int source(ConsumerRecord<byte[], byte[]> record) { return sources.get(record.topic()); }
  }

  private final Map<String, Object> properties;
  private final Map<String, Integer> sources = new HashMap<>(); // by topic
  private final Map<SourcePartition, Position> begin;
  private final Map<SourcePartition, Position> ends; // null without an end
  private final Predicate<SourcePartition> owns;
  private final BlockingQueue<Fetched> queue;
  private final Set<TopicPartition> assigned = new HashSet<>();
  private final Thread thread = new Thread(this, "evertable-fetcher");
  private volatile boolean closed;

  Fetcher(Map<String, Object> properties, Map<SourcePartition, Position> begin, Map<SourcePartition, Position> ends,
      Predicate<SourcePartition> owns, BlockingQueue<Fetched> queue) {
    this.properties = properties;
    this.begin = begin;
    this.ends = ends;
    this.owns = owns;
    this.queue = queue;
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
      queue.put(new Fetched(sources, null, Map.of(), failure));
    } catch (InterruptedException e) {
      // closed
    }
  }

  private void fetch(KafkaConsumer<byte[], byte[]> consumer) throws InterruptedException {
    Map<SourcePartition, Position> own = new HashMap<>();
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
      if (records.nextOffsets().isEmpty()) continue;
      Map<SourcePartition, Position> next = new HashMap<>();
      records.nextOffsets().forEach((at, offset) -> next.put(partition(at), new Position(offset)));
      queue.put(new Fetched(sources, ends == null ? records : upToEnds(consumer, records, next), next, null));
    }
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
          if (!assigned.contains(at) && owns.test(partition(at))) created.put(partition(at), null);
        }
      }
      if (!created.isEmpty()) assign(consumer, created);
    } catch (TimeoutException e) {
      // asked again soon
    }
  }

  /** The records before the ends; where an end was reached, no more is fetched. */
  private List<ConsumerRecord<byte[], byte[]>> upToEnds(KafkaConsumer<byte[], byte[]> consumer,
      ConsumerRecords<byte[], byte[]> records, Map<SourcePartition, Position> next) {
    next.replaceAll((at, position) -> position.offset() < ends.get(at).offset() ? position : ends.get(at));
    consumer.pause(assigned.stream().filter(at -> ends.get(partition(at)).equals(next.get(partition(at)))).toList());
    List<ConsumerRecord<byte[], byte[]>> before = new ArrayList<>();
    for (ConsumerRecord<byte[], byte[]> record : records) {
      if (record.offset() < ends.get(new SourcePartition(sources.get(record.topic()), record.partition())).offset()) before.add(record);
    }
    return before;
  }
}
