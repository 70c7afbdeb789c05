package dev.evertable;

import java.io.InterruptedIOException;
import java.lang.management.ManagementFactory;

/**
 * How fast a topic's past is read while people watch news of another generation: as fast as leaves these a share of the
 * processors.
 *
 * <p>A reader rests behind each pack, for a multiple of the time that the pack took. The multiple is one for all readers
 * of a JVM. It grows while the machine is busier than it should be and shrinks while it is not: where there are
 * processors enough, or no news to be kept waiting, nobody ever rests.
 */
public final class Pace {
  private static final double BUSY = 0.75; // of all processors: then those who watch mostly find one free
  private static final double STEP = 5; // of the multiple, for a whole processor's difference
  private static final double MOST = 10;
  private static final long LOOK_NS = 100_000_000;
  private static final long NEWS_NS = 5_000_000_000L; // after so long without any, none are expected
  private static final long LONGEST_MS = 200; // an epoch's end, or a stop, waits no longer than this for a reader
  private static final Pace OF_THIS_MACHINE = new Pace();

  private static volatile long news = System.nanoTime() - NEWS_NS; // when some were read last

  private double multiple;
  private long looked = System.nanoTime();

  /** A record was read that its topic did not hold when its generation was built. */
  static void sawNews() { news = System.nanoTime(); }

  /** Rests behind work that took so long; at once back where the machine is not busy, or nothing is kept waiting. */
  static void restAfter(long spentNs) throws InterruptedIOException {
    if (System.nanoTime() - news > NEWS_NS) return;
    try {
      Thread.sleep(OF_THIS_MACHINE.restMs(spentNs));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new InterruptedIOException("stopped while it rested");
    }
  }

  private synchronized long restMs(long spentNs) {
    long now = System.nanoTime();
    if (now - looked > LOOK_NS) {
      looked = now;
      var machine = (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
      adapt(machine.getCpuLoad()); // since it was last asked
    }
    return rest(spentNs);
  }

  /** Takes note of how busy the processors are, from 0 to 1; what is not known changes nothing. */
  public void adapt(double load) {
    if (load >= 0) multiple = Math.max(0, Math.min(MOST, multiple + STEP * (load - BUSY)));
  }

  /** Milliseconds to rest behind work of so many nanoseconds. */
  public long rest(long spentNs) { return Math.min(LONGEST_MS, (long) (spentNs * multiple / 1e6)); }
}
