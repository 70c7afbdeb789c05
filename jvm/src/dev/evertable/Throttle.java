package dev.evertable;

import java.io.InterruptedIOException;
import java.lang.management.ManagementFactory;

/**
 * Slows down the reading of a backlog while people watch another generation, so that a share of the processors stays free
 * for new records.
 *
 * <p>A reader pauses after each row for a multiple of the time that the row took. All readers of a JVM share the multiple.
 * It grows while processors are busier than they should be, and shrinks while they are not. Without new records nobody
 * pauses.
 */
public final class Throttle {
  private static final double BUSY = 0.75; // of all processors: up to this load a new record mostly finds a free one
  private static final double STEP = 5; // of the multiple, per whole processor of difference
  private static final double MAX_MULTIPLE = 10;
  private static final long SAMPLE_NS = 100_000_000;
  private static final long QUIET_NS = 5_000_000_000L; // after so long without a new record, none is expected
  private static final long MAX_PAUSE_MS = 200; // the end of an epoch, or a stop, waits no longer than this for a reader
  private static final Throttle OF_THIS_JVM = new Throttle();

  private static volatile long newestNs = System.nanoTime() - QUIET_NS; // when a new record was read last

  private double multiple;
  private long sampledNs = System.nanoTime();

  /** Notes that a record was read that is no part of a backlog. */
  static void newRecord() { newestNs = System.nanoTime(); }

  /** Pauses after work that took so long; returns at once if processors are free or no new records come. */
  static void pauseAfter(long spentNs) throws InterruptedIOException {
    if (System.nanoTime() - newestNs > QUIET_NS) return;
    try {
      Thread.sleep(OF_THIS_JVM.samplePauseMs(spentNs));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("the reader was stopped");
    }
  }

  private synchronized long samplePauseMs(long spentNs) {
    long now = System.nanoTime();
    if (now - sampledNs > SAMPLE_NS) {
      sampledNs = now;
      var machine = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
      adapt(machine.getCpuLoad()); // since the last sample
    }
    return pauseMs(spentNs);
  }

  /** Adapts to the load of the processors, from 0 to 1; an unknown load changes nothing. */
  public void adapt(double load) {
    if (load >= 0) multiple = Math.max(0, Math.min(MAX_MULTIPLE, multiple + STEP * (load - BUSY)));
  }

  /** Milliseconds to pause after work of so many nanoseconds. */
  public long pauseMs(long spentNs) { return Math.min(MAX_PAUSE_MS, (long) (spentNs * multiple / 1e6)); }
}
