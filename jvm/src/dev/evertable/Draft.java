package dev.evertable;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;

/** A row being read: its columns' values in whatever order they come, then its bytes and its key. */
final class Draft {
  private final SourceLayout layout;
  private final boolean[] present;
  private final long[] low; // a number, or where a text begins in `text`
  private final long[] high; // a decimal's upper half, or how long a text is
  private final Rejection[] faults;
  private boolean faulty;
  private final Utf8 text = new Utf8();

  Draft(SourceLayout layout) {
    int n = layout.names.length;
    this.layout = layout;
    present = new boolean[n];
    low = new long[n];
    high = new long[n];
    faults = new Rejection[n];
  }

  void clear() {
    for (int i = 0; i < present.length; i++) forget(i);
    faulty = false;
    text.clear();
  }

  void forget(int column) {
    present[column] = false;
    faults[column] = null;
  }

  void fault(int column, Rejection why) {
    faults[column] = why;
    faulty = true;
  }

  /** Throws the fault of the first faulty column, if one is left. */
  void check() throws Rejection {
    if (!faulty) return;
    for (Rejection fault : faults) if (fault != null) throw fault;
  }

  void number(int column, long value) { wideNumber(column, value, 0); }

  void wideNumber(int column, long lower, long upper) {
    present[column] = true;
    low[column] = lower;
    high[column] = upper;
  }

  void text(int column, char[] chars, int from, int count) throws Rejection {
    int start = text.length;
    if (!text.add(chars, from, count)) throw halfSurrogate(column);
    wideNumber(column, start, text.length - start);
  }

  /** Takes the value that the parser stands on as compact JSON text, numbers spelled as they are. */
  void json(int column, JsonParser json) throws IOException, Rejection {
    int start = text.length, depth = 0;
    boolean comma = false, whole = true;
    for (JsonToken token = json.currentToken();; token = json.nextToken()) {
      if (comma && token != JsonToken.END_OBJECT && token != JsonToken.END_ARRAY) text.add(',');
      comma = true;
      switch (token) {
        case START_OBJECT, START_ARRAY -> {
          text.add(token == JsonToken.START_OBJECT ? '{' : '[');
          depth++;
          comma = false;
        }
        case END_OBJECT, END_ARRAY -> {
          text.add(token == JsonToken.END_OBJECT ? '}' : ']');
          depth--;
        }
        case FIELD_NAME -> {
          whole &= text.addQuoted(json.getTextCharacters(), json.getTextOffset(), json.getTextLength());
          text.add(':');
          comma = false;
        }
        case VALUE_STRING -> whole &= text.addQuoted(json.getTextCharacters(), json.getTextOffset(), json.getTextLength());
        default -> whole &= text.add(json.getTextCharacters(), json.getTextOffset(), json.getTextLength());
      }
      if (depth == 0) break;
    }
    if (!whole) throw halfSurrogate(column);
    wideNumber(column, start, text.length - start);
  }

  /** Fills the columns that come from the record itself. */
  void takeFromRecord(byte[] key, int partition, long offset, long timestamp) {
    for (int i = 0; i < layout.from.length; i++) {
      try {
        switch (layout.from[i]) {
          case JSON -> { }
          case PARTITION -> number(i, partition);
          case OFFSET -> number(i, offset);
          case TIMESTAMP -> number(i, Values.timestamp(timestamp, layout.names[i]));
          case KEY -> takeKey(i, key);
        }
      } catch (Rejection e) {
        fault(i, e);
      }
    }
  }

  private void takeKey(int column, byte[] key) throws Rejection {
    if (key == null) return;
    if (!Utf8.valid(key)) throw new Rejection("INVALID_UTF8", "column '" + layout.names[column] + "': the record's key is not UTF-8");
    wideNumber(column, text.length, key.length);
    text.add(key);
  }

  private Rejection halfSurrogate(int column) {
    return new Rejection("INVALID_UTF8", "column '" + layout.names[column] + "' has half a surrogate pair");
  }

  /** The row's changelog record, without matches yet. */
  byte[] row(int partition, long offset, long timestamp) {
    int texts = 0;
    for (int i = 0; i < present.length; i++) if (present[i] && layout.types[i].isText()) texts += (int) high[i];
    int at = Changelog.HEADER + layout.nullBytes;
    int textStart = at + layout.fixedBytes, textAt = textStart;
    byte[] record = new byte[textStart + texts];
    Changelog.header(record, Changelog.ROW, layout.side, Changelog.NONE, 0, partition, offset, timestamp);
    for (int i = 0; i < present.length; i++) {
      ColumnType type = layout.types[i];
      if (type.isText()) {
        if (present[i]) {
          System.arraycopy(text.bytes, (int) low[i], record, textAt, (int) high[i]);
          textAt += (int) high[i];
        }
        Changelog.putInt(record, at, textAt - textStart);
      } else if (present[i]) {
        putNumber(record, at, type.size, i);
      }
      if (!present[i]) record[Changelog.HEADER + (i >> 3)] |= (byte) (1 << (i & 7));
      at += type.size;
    }
    return record;
  }

  /** The key's bytes, equal where the typed values are equal; null without a key. */
  byte[] key() {
    int i = layout.key;
    if (!present[i]) return null;
    ColumnType type = layout.types[i];
    byte[] key = new byte[type.isText() ? (int) high[i] : type.size];
    if (type.isText()) System.arraycopy(text.bytes, (int) low[i], key, 0, key.length);
    else putNumber(key, 0, type.size, i);
    return key;
  }

  private void putNumber(byte[] to, int at, int size, int column) {
    switch (size) {
      case 1 -> to[at] = (byte) low[column];
      case 4 -> Changelog.putInt(to, at, (int) low[column]);
      case 8 -> Changelog.putLong(to, at, low[column]);
      default -> {
        Changelog.putLong(to, at, low[column]);
        Changelog.putLong(to, at + 8, high[column]);
      }
    }
  }
}
