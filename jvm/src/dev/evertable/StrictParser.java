package dev.evertable;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.exc.StreamConstraintsException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.time.Instant;

/** A Kafka record's value, strictly typed, as a changelog record and a key; a value that does not fit becomes a reject. */
public final class StrictParser {
  private static final int RAW_BYTES = 1024;
  private static final long MAX_MILLIS = Long.MAX_VALUE / 1000;
  private static final JsonFactory JSON = JsonFactory.builder()
      .disable(JsonFactory.Feature.CHARSET_DETECTION) // UTF-8 or nothing
      .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
      .streamReadConstraints(StreamReadConstraints.builder().maxNestingDepth(1000)
          .maxStringLength(Integer.MAX_VALUE).maxNameLength(Integer.MAX_VALUE).maxNumberLength(Integer.MAX_VALUE).build())
      .build();

  private final SourceLayout layout;
  private final Draft draft;
  private byte[] joinKey;

  public StrictParser(String layout) throws IOException { this(new SourceLayout(new ObjectMapper().readTree(layout))); }

  StrictParser(SourceLayout layout) {
    this.layout = layout;
    draft = new Draft(layout);
  }

  /** The changelog record, without matches yet, of a row or of a reject. */
  public byte[] parse(byte[] value, byte[] key, int partition, long offset, long timestampMs) {
    long timestamp = Math.max(-MAX_MILLIS, Math.min(MAX_MILLIS, timestampMs));
    joinKey = null;
    try {
      if (partition >= Changelog.MAX_PARTITION || offset >= Changelog.MAX_OFFSET) {
        throw new Rejection("ID_OUT_OF_RANGE", "partition " + partition + ", offset " + offset + " has no row id");
      }
      if (timestamp >= MAX_MILLIS || timestamp <= -MAX_MILLIS) {
        throw new Rejection("TIMESTAMP_OUT_OF_RANGE", "the record's timestamp does not fit in microseconds; was it given in nanoseconds?");
      }
      if (timestamp - System.currentTimeMillis() > layout.maxAheadMs) {
        throw new Rejection("TIMESTAMP_AHEAD", "the record's timestamp, " + Instant.ofEpochMilli(timestamp)
            + ", is more than " + layout.maxAheadMs / 1000 + " s ahead of the clock");
      }
      read(value, key, partition, offset, timestamp);
      byte[] record = draft.row(partition, offset, timestamp);
      if (record.length > layout.maxBytes) {
        throw new Rejection("ROW_TOO_LARGE", "the row takes " + record.length + " bytes, the changelog takes " + layout.maxBytes);
      }
      joinKey = draft.key();
      return record;
    } catch (Rejection e) {
      return reject(e.getMessage(), value, partition, offset, timestamp);
    }
  }

  /** What the row that was parsed last is joined by, equal where the typed values are equal; null without a key or a row. */
  public byte[] key() { return joinKey; }

  private void read(byte[] value, byte[] key, int partition, long offset, long timestamp) throws Rejection {
    if (value == null) throw new Rejection("TOMBSTONE", "the record has no value");
    if (!Utf8.valid(value)) throw new Rejection("INVALID_UTF8", "the value is not UTF-8");
    if (value.length >= 3 && value[0] == (byte) 0xEF && value[1] == (byte) 0xBB && value[2] == (byte) 0xBF) {
      throw new Rejection("INVALID_JSON", "the value begins with a byte order mark (BOM, EF BB BF); send UTF-8 without one");
    }
    draft.clear();
    try (JsonParser json = JSON.createParser(value)) {
      readObject(json);
    } catch (StreamConstraintsException e) {
      throw new Rejection(e.getMessage().contains("nesting") ? "TOO_DEEP" : "INVALID_JSON", e.getOriginalMessage());
    } catch (JsonProcessingException e) {
      throw invalid(e);
    } catch (IOException e) {
      throw new IllegalStateException("reading from memory cannot fail", e);
    }
    draft.takeFromRecord(key, partition, offset, timestamp);
    draft.check();
  }

  private void readObject(JsonParser json) throws IOException, Rejection {
    JsonToken first = json.nextToken();
    if (first == null) throw new Rejection("NOT_AN_OBJECT", "the value is empty");
    if (first != JsonToken.START_OBJECT) {
      json.skipChildren(); // broken JSON is told as such
      json.finishToken();
      throw new Rejection("NOT_AN_OBJECT", "the value is " + named(first));
    }
    for (int expected = 0; json.nextToken() == JsonToken.FIELD_NAME;) {
      int column = layout.column(json.currentName(), expected);
      JsonToken token = json.nextToken();
      if (column < 0) {
        json.skipChildren();
        continue;
      }
      expected = column + 1;
      try {
        draft.forget(column); // of duplicate fields the last counts, for its faults too
        readValue(json, token, column);
      } catch (Rejection e) {
        draft.fault(column, e);
        json.skipChildren();
      }
    }
    try {
      if (json.nextToken() == null) return;
    } catch (JsonProcessingException e) {
      // whatever it is, it is not the end
    }
    throw new Rejection("TRAILING_TEXT", "text follows the object");
  }

  private void readValue(JsonParser json, JsonToken token, int column) throws IOException, Rejection {
    String name = layout.names[column];
    ColumnType type = layout.types[column];
    if (token == JsonToken.VALUE_NULL) return;
    switch (type) {
      case STRING -> {
        expect(token == JsonToken.VALUE_STRING, token, column);
        draft.text(column, json.getTextCharacters(), json.getTextOffset(), json.getTextLength());
      }
      case BOOLEAN -> {
        expect(token.isBoolean(), token, column);
        draft.number(column, token == JsonToken.VALUE_TRUE ? 1 : 0);
      }
      case INT, LONG -> {
        expect(token == JsonToken.VALUE_NUMBER_INT, token, column);
        boolean isInt = type == ColumnType.INT;
        draft.number(column, Values.integer(json.getTextCharacters(), json.getTextOffset(), json.getTextLength(),
            isInt ? Integer.MIN_VALUE : Long.MIN_VALUE, isInt ? Integer.MAX_VALUE : Long.MAX_VALUE, name));
      }
      case FLOAT -> {
        expect(token.isNumeric(), token, column);
        float value = Float.parseFloat(json.getText());
        if (Float.isInfinite(value)) throw Values.outOfRange(name, json.getTextCharacters(), json.getTextOffset(), json.getTextLength());
        draft.number(column, Float.floatToRawIntBits(value));
      }
      case DOUBLE -> {
        expect(token.isNumeric(), token, column);
        double value = Double.parseDouble(json.getText());
        if (Double.isInfinite(value)) throw Values.outOfRange(name, json.getTextCharacters(), json.getTextOffset(), json.getTextLength());
        draft.number(column, Double.doubleToRawLongBits(value));
      }
      case DECIMAL -> {
        expect(token.isNumeric() || token == JsonToken.VALUE_STRING, token, column);
        BigInteger unscaled = Values.decimal(json.getText(), layout.precision[column], layout.scale[column], name);
        draft.wideNumber(column, unscaled.longValue(), unscaled.shiftRight(64).longValue());
      }
      case DATE -> {
        expect(token == JsonToken.VALUE_STRING, token, column);
        draft.number(column, Values.date(json.getText(), name));
      }
      case TIMESTAMP -> {
        expect(token == JsonToken.VALUE_STRING || token == JsonToken.VALUE_NUMBER_INT, token, column);
        draft.number(column, token == JsonToken.VALUE_STRING ? Values.timestamp(json.getText(), name)
            : Values.timestamp(Values.integer(json.getTextCharacters(), json.getTextOffset(), json.getTextLength(), Long.MIN_VALUE, Long.MAX_VALUE, name), name));
      }
      case JSON -> draft.json(column, json);
    }
  }

  private void expect(boolean fits, JsonToken token, int column) throws Rejection {
    if (!fits) throw new Rejection("WRONG_TYPE", "column '" + layout.names[column] + "' wants " + layout.types[column].name().toLowerCase() + ", found " + named(token));
  }

  static String named(JsonToken token) {
    return switch (token) {
      case START_OBJECT -> "an object";
      case START_ARRAY -> "an array";
      case VALUE_STRING -> "a string";
      case VALUE_NUMBER_INT -> "an integer";
      case VALUE_NUMBER_FLOAT -> "a number with a fraction or exponent";
      case VALUE_TRUE, VALUE_FALSE -> "a boolean";
      default -> "null";
    };
  }

  private static Rejection invalid(JsonProcessingException e) {
    String what = e.getOriginalMessage().lines().findFirst().orElse("not JSON");
    String where = e.getLocation() == null ? "" : " (byte " + e.getLocation().getByteOffset() + ")";
    return new Rejection("INVALID_JSON", (what.length() <= 160 ? what : what.substring(0, 160) + "…") + where);
  }

  private byte[] reject(String reason, byte[] value, int partition, long offset, long timestamp) {
    byte[] why = reason.getBytes(StandardCharsets.UTF_8);
    int raw = value == null ? 0 : Math.min(value.length, RAW_BYTES);
    byte[] record = new byte[Changelog.HEADER + why.length + raw];
    Changelog.header(record, Changelog.REJECT, layout.side, value == null ? 1 : 0, why.length, partition, offset, timestamp);
    System.arraycopy(why, 0, record, Changelog.HEADER, why.length);
    if (raw > 0) System.arraycopy(value, 0, record, Changelog.HEADER + why.length, raw);
    return record;
  }
}
