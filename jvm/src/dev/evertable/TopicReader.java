package dev.evertable;

import java.io.IOException;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeRead;

/**
 * Passes on the rows of its share of the partitions.
 *
 * <p>At the end of the backlog and of each epoch, and every ten seconds, it sends a barrier to every bucket: all that it
 * had read until then is in the changelog before it. It ends an epoch itself, well before Spark would, so that the barrier always comes first.
 */
final class TopicReader implements SupportsRealTimeRead<InternalRow> {
  static final Held<Intake> HELD = new Held<>();

  private static final long POLL_MS = 1_000, BARRIER_NS = 10_000_000_000L;

  private final ReadPlan plan;
  private final TopicStream.Share share;
  private final boolean isFirstEpoch;
  private final String key;
  private final Intake intake;
  private final Packer packer;
  private final TreeMap<SourcePartition, Long> backlog; // what is left of it: the end of each partition
  private final long endNs;
  private boolean inBacklog;
  private Offsets announced; // by the last barrier; null if the next one is due whatever was read
  private boolean closed;
  private long announcedMoves;
  private long barrierNs = System.nanoTime() + BARRIER_NS; // when the next one is due
  private InternalRow row;
  private long begunNs = System.nanoTime(); // the pack before

  /** A reader for so many buckets; the first epoch after a start ends as soon as the backlog was read. */
  TopicReader(ReadPlan plan, TopicStream.Share share, int buckets, boolean isFirstEpoch) {
    this.plan = plan;
    this.share = share;
    this.isFirstEpoch = isFirstEpoch;
    packer = new Packer(plan, buckets);
    endNs = System.nanoTime() + plan.epochMs * 1_000_000;
    key = plan.query + "/" + share.reader();
    intake = takeOver(buckets);
    backlog = new TreeMap<>(plan.backlogEnds);
    backlog.keySet().removeIf(at -> at.reader(plan.readers) != share.reader());
    inBacklog = isFirstEpoch || !isBacklogRead();
    announced = isFirstEpoch ? null : share.start();
    announcedMoves = intake.moves();
  }

  /** The consumers of the epoch before, where they are at this one's start; new ones otherwise. */
  private Intake takeOver(int buckets) {
    Intake held = HELD.take(key);
    if (held != null && share.ends() == null && held.isAt(share.start())) return held;
    if (held != null) held.close();
    return new Intake(plan, share, buckets);
  }

  @Override public RecordStatus nextWithTimeout(Long timeoutMs) throws IOException {
    return RecordStatus.newStatusWithoutArrivalTime(advance(timeoutMs));
  }

  /** For micro-batches, which end by offsets. */
  @Override public boolean next() throws IOException {
    while (!hasReached(share.ends())) {
      if (take(POLL_MS)) return true;
    }
    return announce();
  }

  @Override public InternalRow get() { return row; }

  /** Called at the end of an epoch, whose barrier the state and a later resume rely on. */
  @Override public PartitionOffset getOffset() {
    Offsets reached = intake.offsets();
    if (!reached.equals(announced)) throw new IllegalStateException("the epoch ended before its barrier; it is tried again");
    return reached;
  }

  @Override public void close() {
    if (closed) return;
    closed = true;
    if (share.ends() == null && intake.isSound()) HELD.put(key, intake);
    else HELD.drop(key, intake);
  }

  private boolean advance(long timeoutMs) throws IOException {
    long deadline = Math.min(endNs, System.nanoTime() + timeoutMs * 1_000_000);
    while (true) {
      if (inBacklog && isBacklogRead()) {
        inBacklog = false;
        if (announce()) return true;
      }
      long now = System.nanoTime();
      if (isFirstEpoch && (plan.isEager || !inBacklog) || now >= endNs) return announce();
      boolean hasNews = intake.moves() != announcedMoves;
      if (hasNews && now >= barrierNs && announce()) return true;
      if (now >= deadline) return false; // Spark's own end of the epoch, which is later
      long until = hasNews ? Math.min(deadline, barrierNs) : deadline;
      if (take(Math.max(1, (until - now) / 1_000_000))) return true;
    }
  }

  private boolean isBacklogRead() {
    backlog.entrySet().removeIf(end -> intake.offset(end.getKey()) >= end.getValue());
    return backlog.isEmpty();
  }

  private boolean hasReached(Offsets ends) {
    return ends.positions.entrySet().stream().allMatch(end -> intake.offset(end.getKey()) >= end.getValue().offset());
  }

  private boolean take(long timeoutMs) throws IOException {
    if (inBacklog && System.currentTimeMillis() < plan.throttledUntilMs) Throttle.pauseAfter(System.nanoTime() - begunNs);
    begunNs = System.nanoTime();
    row = intake.take(timeoutMs);
    if (row != null && !inBacklog) Throttle.newRecord();
    return row != null;
  }

  /** Makes the next row a barrier for each bucket; false if the last one said the same. */
  private boolean announce() {
    Offsets reached = intake.offsets();
    if (reached.equals(announced)) return false;
    announced = reached;
    announcedMoves = intake.moves();
    barrierNs = System.nanoTime() + BARRIER_NS;
    row = packer.barrier(reached);
    return true;
  }
}
