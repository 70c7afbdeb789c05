package dev.evertable;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeMap;

/** What a query reads and how: the sources, their topics and clusters, and where each partition begins. */
final class ReadPlan implements Serializable {
  private static final long serialVersionUID = 1;

  final String query;
  final int readers;
  final long epochMs;
  final boolean isEager; // the first epoch ends at once
  final long throttledUntilMs;
  final SourceLayout[] layouts;
  final String[] topics;
  final Map<String, Object>[] kafka; // consumer properties of each source
  final Offsets start;
  final TreeMap<SourcePartition, Long> backlogEnds = new TreeMap<>(); // the offset after each partition's backlog

  /** Reads Spark's options: {@code plan} is JSON, {@code kafka.0.NAME} a Kafka property of the first source. */
  @SuppressWarnings("unchecked")
  ReadPlan(Map<String, String> options) throws IOException {
    JsonNode plan = new ObjectMapper().readTree(options.get("plan"));
    query = plan.get("query").textValue();
    readers = plan.get("readers").intValue();
    epochMs = plan.get("epoch_ms").longValue();
    isEager = plan.get("is_eager").booleanValue();
    throttledUntilMs = plan.get("throttled_until_ms").longValue();
    JsonNode sources = plan.get("sources");
    layouts = new SourceLayout[sources.size()];
    topics = new String[sources.size()];
    kafka = new Map[sources.size()];
    TreeMap<SourcePartition, Position> starts = new TreeMap<>();
    for (int i = 0; i < layouts.length; i++) {
      int number = i;
      JsonNode source = sources.get(i);
      layouts[i] = new SourceLayout(source.get("layout"));
      topics[i] = source.get("topic").textValue();
      kafka[i] = withPrefix(options, "kafka." + i + ".");
      source.get("start").properties().forEach(
          at -> starts.put(new SourcePartition(number, Integer.parseInt(at.getKey())), new Position(at.getValue().longValue())));
      source.get("backlog_ends").properties().forEach(
          at -> backlogEnds.put(new SourcePartition(number, Integer.parseInt(at.getKey())), at.getValue().longValue()));
    }
    start = new Offsets(starts);
  }

  private static Map<String, Object> withPrefix(Map<String, String> options, String prefix) {
    Map<String, Object> found = new HashMap<>();
    options.forEach((name, value) -> {
      if (name.startsWith(prefix)) found.put(name.substring(prefix.length()), value);
    });
    return found;
  }
}
