package dev.evertable;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** A growing buffer of UTF-8 text that refuses half surrogate pairs instead of replacing them. */
final class Utf8 {
  byte[] bytes = new byte[1024];
  int length;

  private static final byte[] HEX = "0123456789abcdef".getBytes(StandardCharsets.US_ASCII);

  /** Whether the bytes are well-formed UTF-8; nearly all records are ASCII, told eight bytes at a time. */
  static boolean valid(byte[] text) {
    int i = 0;
    for (; i + 8 <= text.length; i += 8) if ((Changelog.getLong(text, i) & 0x8080808080808080L) != 0) return decodes(text);
    for (; i < text.length; i++) if (text[i] < 0) return decodes(text);
    return true;
  }

  private static boolean decodes(byte[] text) {
    try {
      StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(text));
      return true;
    } catch (CharacterCodingException e) {
      return false;
    }
  }

  void clear() {
    length = 0;
    if (bytes.length > 1 << 20) bytes = new byte[1024]; // one huge record must not hold its memory for ever
  }

  void add(int b) {
    if (length == bytes.length) grow(1);
    bytes[length++] = (byte) b;
  }

  void add(byte[] text) {
    grow(text.length);
    System.arraycopy(text, 0, bytes, length, text.length);
    length += text.length;
  }

  /** Appends the characters; false if a surrogate stands alone. */
  boolean add(char[] chars, int from, int count) {
    grow(3 * count);
    for (int i = from, end = from + count; i < end; i++) {
      char c = chars[i];
      if (c < 0x80) bytes[length++] = (byte) c;
      else if (!Character.isSurrogate(c)) addWide(c);
      else if (Character.isHighSurrogate(c) && i + 1 < end && Character.isLowSurrogate(chars[i + 1])) addWide(Character.toCodePoint(c, chars[++i]));
      else return false;
    }
    return true;
  }

  /** Appends the characters as a JSON string, escaping no more than JSON asks for; false if a surrogate stands alone. */
  boolean addQuoted(char[] chars, int from, int count) {
    add('"');
    int plain = from, end = from + count;
    for (int i = from; i < end; i++) {
      char c = chars[i];
      if (c >= 0x20 && c != '"' && c != '\\') continue;
      if (!add(chars, plain, i - plain)) return false;
      plain = i + 1;
      addEscaped(c);
    }
    boolean whole = add(chars, plain, end - plain);
    add('"');
    return whole;
  }

  private void addEscaped(char c) {
    int letter = "\b\t\n\f\r\"\\".indexOf(c);
    add('\\');
    if (letter >= 0) {
      add("btnfr\"\\".charAt(letter));
      return;
    }
    add('u');
    add('0');
    add('0');
    add(HEX[c >> 4]);
    add(HEX[c & 15]);
  }

  private void addWide(int point) {
    if (point < 0x800) {
      bytes[length++] = (byte) (0xC0 | point >> 6);
    } else {
      if (point < 0x10000) {
        bytes[length++] = (byte) (0xE0 | point >> 12);
      } else {
        bytes[length++] = (byte) (0xF0 | point >> 18);
        bytes[length++] = (byte) (0x80 | point >> 12 & 0x3F);
      }
      bytes[length++] = (byte) (0x80 | point >> 6 & 0x3F);
    }
    bytes[length++] = (byte) (0x80 | point & 0x3F);
  }

  private void grow(int by) {
    if (length + by > bytes.length) bytes = Arrays.copyOf(bytes, Math.max(2 * bytes.length, length + by));
  }
}
