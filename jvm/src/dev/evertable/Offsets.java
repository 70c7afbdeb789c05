package dev.evertable;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;

/**
 * Where to read on in each partition of each source: {@code {"0": {"3": [next offset, leader epoch]}}} in a checkpoint.
 * A reader returns those of its own partitions.
 */
final class Offsets extends Offset implements PartitionOffset {
  private static final long serialVersionUID = 1;
  private static final ObjectMapper JSON = new ObjectMapper();

  final TreeMap<SourcePartition, Position> positions;

  Offsets(Map<SourcePartition, Position> positions) { this.positions = new TreeMap<>(positions); }

  static Offsets parse(String json) {
    TreeMap<SourcePartition, Position> found = new TreeMap<>();
    try {
      JSON.readTree(json).properties().forEach(source -> source.getValue().properties().forEach(partition -> {
        JsonNode position = partition.getValue();
        found.put(new SourcePartition(Integer.parseInt(source.getKey()), Integer.parseInt(partition.getKey())),
            new Position(position.get(0).longValue(), position.get(1).intValue()));
      }));
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException("not the offsets of Evertable's source: " + json, e);
    }
    return new Offsets(found);
  }

  @Override public String json() {
    ObjectNode sources = JSON.createObjectNode();
    positions.forEach((at, position) -> sources.withObjectProperty(Integer.toString(at.source()))
        .putArray(Integer.toString(at.partition())).add(position.offset()).add(position.leaderEpoch()));
    return sources.toString();
  }
}
