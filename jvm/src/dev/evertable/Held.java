package dev.evertable;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;

/**
 * Resources that outlive an epoch: a task leaves its consumers or its producer here, and the same task of the next epoch
 * takes them over.
 *
 * <p>A resource that nobody takes within {@link #EXPIRY_MS} is closed: on a cluster, an executor is not told that a query
 * has ended. Where the driver runs the tasks itself, {@link #close} ends them at once.
 */
final class Held<T extends AutoCloseable> {
  private static final long EXPIRY_MS = 30_000;

  private record Idle<T>(T resource, long sinceNs) {}

  private final Map<String, Idle<T>> idle = new HashMap<>();
  private final Set<String> taken = new HashSet<>();
  private Thread sweeper; // runs while anything is idle

  /** Takes what was left under this key; null if there is nothing. The caller returns it by {@link #put} or {@link #drop}. */
  synchronized T take(String key) {
    taken.add(key);
    Idle<T> found = idle.remove(key);
    return found == null ? null : found.resource;
  }

  /** Leaves a resource for the next epoch. */
  synchronized void put(String key, T resource) {
    taken.remove(key);
    Idle<T> other = idle.put(key, new Idle<>(resource, System.nanoTime()));
    if (other != null && other.resource != resource) closeQuietly(other.resource);
    if (sweeper == null) {
      sweeper = new Thread(this::sweep, "evertable-held");
      sweeper.setDaemon(true);
      sweeper.start();
    }
  }

  /** Closes a resource that must not be used again. */
  void drop(String key, T resource) {
    synchronized (this) {
      taken.remove(key);
    }
    if (resource != null) closeQuietly(resource);
  }

  /** Closes what is idle under keys with this prefix; returns whether no task uses any of them either. */
  synchronized boolean close(String prefix) {
    closeIf(entry -> entry.getKey().startsWith(prefix));
    return taken.stream().noneMatch(key -> key.startsWith(prefix));
  }

  private void sweep() {
    while (true) {
      try {
        Thread.sleep(EXPIRY_MS / 6);
      } catch (InterruptedException e) {
        return;
      }
      synchronized (this) {
        long now = System.nanoTime();
        closeIf(entry -> now - entry.getValue().sinceNs > EXPIRY_MS * 1_000_000);
        if (idle.isEmpty()) {
          sweeper = null;
          return;
        }
      }
    }
  }

  private void closeIf(java.util.function.Predicate<Map.Entry<String, Idle<T>>> ended) {
    for (Iterator<Map.Entry<String, Idle<T>>> entries = idle.entrySet().iterator(); entries.hasNext();) {
      Map.Entry<String, Idle<T>> entry = entries.next();
      if (!ended.test(entry)) continue;
      entries.remove();
      closeQuietly(entry.getValue().resource);
    }
  }

  private static void closeQuietly(AutoCloseable resource) {
    try {
      resource.close();
    } catch (Exception e) {
      // it is not used again, and its threads end whatever it reports
    }
  }
}
