package dev.evertable;

import java.io.Serializable;
import java.util.Optional;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;

/** The next offset of a partition, and the leader epoch of what was read before it (-1 if unknown). */
record Position(long offset, int leaderEpoch) implements Serializable {
  static final int UNKNOWN = -1;

  Position(long offset) { this(offset, UNKNOWN); }

  Position(OffsetAndMetadata next) { this(next.offset(), next.leaderEpoch().orElse(UNKNOWN)); }

  /** With the epoch, Kafka notices that the log was cut and written again, also while nobody was reading it. */
  OffsetAndMetadata toSeek() {
    return new OffsetAndMetadata(offset, leaderEpoch < 0 ? Optional.empty() : Optional.of(leaderEpoch), "");
  }
}
