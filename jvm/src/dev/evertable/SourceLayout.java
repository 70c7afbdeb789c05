package dev.evertable;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.Serializable;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;

/** One source's columns, key and limits, as the plan describes them to the parser. */
final class SourceLayout implements Serializable {
  private static final long serialVersionUID = 1;

  /** Where a column comes from: the record's JSON or the record itself. */
  enum From { JSON, TIMESTAMP, PARTITION, OFFSET, KEY }

  final int side;
  final int key;
  final int maxBytes;
  final long maxAheadMs; // how far a timestamp may be ahead of the clock
  final String[] names;
  final ColumnType[] types;
  final From[] from;
  final int[] precision;
  final int[] scale;
  final int nullBytes;
  final int fixedBytes;
  private final Map<String, Integer> byName = new HashMap<>();

  SourceLayout(JsonNode spec) {
    JsonNode columns = spec.get("columns");
    int n = columns.size();
    side = spec.get("side").intValue();
    maxBytes = spec.get("max_bytes").intValue();
    maxAheadMs = spec.path("max_ahead_ms").asLong(Long.MAX_VALUE);
    names = new String[n];
    types = new ColumnType[n];
    from = new From[n];
    precision = new int[n];
    scale = new int[n];
    int fixed = 0;
    for (int i = 0; i < n; i++) {
      JsonNode column = columns.get(i);
      names[i] = column.get("name").textValue();
      types[i] = ColumnType.valueOf(column.get("type").textValue().toUpperCase(Locale.ROOT));
      from[i] = From.valueOf(column.get("from").textValue().toUpperCase(Locale.ROOT));
      precision[i] = column.get("precision").intValue();
      scale[i] = column.get("scale").intValue();
      fixed += types[i].size;
      if (from[i] == From.JSON) byName.put(names[i], i);
    }
    key = java.util.Arrays.asList(names).indexOf(spec.get("key").textValue());
    nullBytes = (n + 7) / 8;
    fixedBytes = fixed;
  }

  /** The column that a JSON field fills, -1 if none; fields mostly come in the configured order, so that is tried first. */
  int column(String field, int expected) {
    if (expected < names.length && from[expected] == From.JSON && names[expected].equals(field)) return expected;
    Integer found = byName.get(field);
    return found == null ? -1 : found;
  }
}
