package dev.evertable;

import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Kafka's clients, from the properties that the configuration gives. */
final class Clients {
  private static final String TOKENS = "sasl.oauthbearer.token.endpoint.url";
  private static final String ALLOWED = "org.apache.kafka.sasl.oauthbearer.allowed.urls";

  private Clients() {}

  /** A consumer that gets its partitions assigned, and its offsets from the checkpoint. */
  static KafkaConsumer<byte[], byte[]> consumer(Map<String, Object> properties) {
    allowTokens(properties);
    Map<String, Object> own = new HashMap<>(properties);
    own.remove("group.id");
    own.put("enable.auto.commit", "false");
    own.put("auto.offset.reset", "none"); // lost records are an error
    return new KafkaConsumer<>(own, new ByteArrayDeserializer(), new ByteArrayDeserializer());
  }

  static KafkaProducer<byte[], byte[]> producer(Map<String, Object> properties) {
    allowTokens(properties);
    return new KafkaProducer<>(properties, new ByteArraySerializer(), new ByteArraySerializer());
  }

  /** Kafka asks only those token endpoints that a system property allows; the operator's configuration names ours. */
  private static synchronized void allowTokens(Map<String, Object> properties) {
    if (!(properties.get(TOKENS) instanceof String url)) return;
    Set<String> allowed = new LinkedHashSet<>(List.of(System.getProperty(ALLOWED, "").split(",")));
    allowed.remove("");
    if (allowed.add(url)) System.setProperty(ALLOWED, String.join(",", allowed));
  }
}
