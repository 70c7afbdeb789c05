package dev.evertable;

import java.lang.management.ManagementFactory;
import javax.management.MalformedObjectNameException;
import javax.management.ObjectName;

/** Tells whether this JVM still has a Kafka producer open: Spark closes its cached producers some time after a query's end. */
public final class Producers {
  private Producers() {}

  public static boolean open(String clientId) throws MalformedObjectNameException {
    return ManagementFactory.getPlatformMBeanServer().isRegistered(new ObjectName("kafka.producer:type=app-info,id=" + clientId));
  }
}
