package dev.evertable;

import java.io.Serializable;

/** A partition of a source's topic; sources are numbered as in the plan. */
record SourcePartition(int source, int partition) implements Comparable<SourcePartition>, Serializable {
  @Override public int compareTo(SourcePartition other) {
    return source != other.source ? Integer.compare(source, other.source) : Integer.compare(partition, other.partition);
  }

  /** The reader that consumes it, also where it was created only now. */
  int reader(int readers) { return (source + partition) % readers; }
}
