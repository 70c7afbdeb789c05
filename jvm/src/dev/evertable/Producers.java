package dev.evertable;

import java.lang.management.ManagementFactory;
import javax.management.MalformedObjectNameException;
import javax.management.ObjectName;
import org.apache.spark.sql.kafka010.producer.InternalKafkaProducerPool;
import scala.Tuple2;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Closes the Kafka producer of a query that has ended.
 *
 * <p>Spark keeps an idle producer in a cache for later queries ({@code spark.kafka.producer.cache.timeout}). A generation's
 * producer is never used again, and its changelog cannot be deleted before the producer is closed. This is the only class
 * that uses that cache, which is not part of Spark's public API; {@code tests/engine/test_leftovers.py} tests it.
 */
public final class Producers {
  private Producers() {}

  /** Lets Spark close the producer at its next look at the cache, unless a task still uses it; returns whether it is closed. */
  public static boolean close(String clientId) throws ReflectiveOperationException, MalformedObjectNameException {
    expire(clientId);
    var name = new ObjectName("kafka.producer:type=app-info,id=" + clientId);
    return !ManagementFactory.getPlatformMBeanServer().isRegistered(name);
  }

  private static void expire(String clientId) throws ReflectiveOperationException {
    var field = Class.forName(InternalKafkaProducerPool.class.getName() + "$").getDeclaredField("pool");
    field.setAccessible(true);
    var pool = (InternalKafkaProducerPool) field.get(null);
    synchronized (pool) { // as the pool itself does around every change of an entry
      for (var entry : CollectionConverters.asJava(pool.getAsMap()).values()) {
        if (entry.refCount() == 0 && isOf(clientId, entry)) {
          entry.handleBorrowed();
          entry.handleReturned(Long.MIN_VALUE); // returned so long ago that it has expired
        }
      }
    }
  }

  private static boolean isOf(String clientId, InternalKafkaProducerPool.CachedProducerEntry entry) {
    return CollectionConverters.asJava(entry.producer().cacheKey()).contains(new Tuple2<String, Object>("client.id", clientId));
  }
}
