package dev.evertable;

import java.math.BigDecimal;
import java.math.BigInteger;
import java.time.DateTimeException;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Text to typed values, exactly or not at all. */
final class Values {
  private static final int MAX_DIGITS = 1000; // beyond this a decimal costs quadratic time and means nothing
  private static final Pattern NUMBER = Pattern.compile("-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]+)?");
  private static final Pattern DATE = Pattern.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}");
  private static final Pattern TIMESTAMP = Pattern.compile(
      "([0-9]{4}-[0-9]{2}-[0-9]{2})T([0-9]{2}):([0-9]{2})(?::([0-9]{2})(?:\\.([0-9]{1,9}))?)?(?:Z|([+-])([0-9]{2}):([0-9]{2}))");
  private static final long FIRST_SECOND = LocalDate.of(1, 1, 1).toEpochDay() * 86_400;
  private static final long END_SECOND = LocalDate.of(10_000, 1, 1).toEpochDay() * 86_400;

  private Values() {}

  /** A JSON integer between the bounds. */
  static long integer(char[] text, int from, int length, long min, long max, String column) throws Rejection {
    boolean negative = text[from] == '-';
    int i = negative ? from + 1 : from, end = from + length;
    if (end - i > 19) throw outOfRange(column, text, from, length);
    long value = 0; // counted down from zero, because the least long has no positive counterpart
    for (; i < end; i++) {
      int digit = text[i] - '0';
      if (value < (Long.MIN_VALUE + digit) / 10) throw outOfRange(column, text, from, length);
      value = value * 10 - digit;
    }
    if (!negative && value == Long.MIN_VALUE) throw outOfRange(column, text, from, length);
    if (!negative) value = -value;
    if (value < min || value > max) throw outOfRange(column, text, from, length);
    return value;
  }

  /** The unscaled value of a number that fits decimal(precision, scale) without rounding. */
  static BigInteger decimal(String text, int precision, int scale, String column) throws Rejection {
    if (text.length() > MAX_DIGITS || !NUMBER.matcher(text).matches()) {
      throw new Rejection("BAD_FORMAT", "column '" + column + "' wants a decimal number, found '" + shortened(text) + "'");
    }
    BigDecimal value;
    try {
      value = new BigDecimal(text);
      if (value.signum() == 0) return BigInteger.ZERO; // before stripping: 0e999999999 is just zero
      value = value.stripTrailingZeros();
    } catch (NumberFormatException | ArithmeticException e) { // an exponent beyond what a BigDecimal holds
      if (text.matches("-?0(\\.0+)?[eE].*")) return BigInteger.ZERO;
      throw outOfRange(column, text.toCharArray(), 0, text.length());
    }
    if (value.scale() > scale || (long) value.precision() - value.scale() > precision - scale) throw outOfRange(column, text.toCharArray(), 0, text.length());
    return value.setScale(scale).unscaledValue();
  }

  /** Days since 1970 of a date spelled YYYY-MM-DD. */
  static int date(String text, String column) throws Rejection {
    if (DATE.matcher(text).matches() && !text.startsWith("0000")) {
      try {
        return (int) LocalDate.parse(text).toEpochDay();
      } catch (DateTimeException e) {
        // falls through to the one message that fits: the shape was right, the day does not exist
      }
    }
    throw new Rejection("BAD_FORMAT", "column '" + column + "' wants a date as YYYY-MM-DD, found '" + shortened(text) + "'");
  }

  /** Microseconds since 1970 of an ISO-8601 timestamp with a zone. */
  static long timestamp(String text, String column) throws Rejection {
    Matcher m = TIMESTAMP.matcher(text);
    if (!m.matches()) throw badTimestamp(text, column);
    long seconds;
    try {
      LocalDateTime local = LocalDate.parse(m.group(1)).atTime(number(m.group(2)), number(m.group(3)), number(m.group(4)));
      seconds = local.toEpochSecond(ZoneOffset.UTC);
    } catch (DateTimeException e) {
      throw badTimestamp(text, column);
    }
    if (m.group(6) != null) {
      int hours = number(m.group(7)), minutes = number(m.group(8));
      if (hours > 23 || minutes > 59) throw badTimestamp(text, column);
      seconds -= (m.group(6).equals("-") ? -1 : 1) * (hours * 3600L + minutes * 60L);
    }
    String fraction = m.group(5) == null ? "" : m.group(5);
    long nanos = number((fraction + "000000000").substring(0, 9));
    if (nanos % 1000 != 0) throw new Rejection("OUT_OF_RANGE", "column '" + column + "' holds microseconds, found '" + shortened(text) + "'");
    return micros(seconds, nanos / 1000, text, column);
  }

  /** Microseconds since 1970 of milliseconds since 1970. */
  static long timestamp(long millis, String column) throws Rejection {
    return micros(Math.floorDiv(millis, 1000L), Math.floorMod(millis, 1000L) * 1000, Long.toString(millis), column);
  }

  private static long micros(long seconds, long micros, String text, String column) throws Rejection {
    if (seconds < FIRST_SECOND || seconds >= END_SECOND) {
      throw new Rejection("OUT_OF_RANGE", "column '" + column + "' wants a timestamp of the years 1 to 9999, found '" + shortened(text) + "'");
    }
    return seconds * 1_000_000 + micros;
  }

  private static int number(String digits) { return digits == null ? 0 : Integer.parseInt(digits); }

  private static Rejection badTimestamp(String text, String column) {
    return new Rejection("BAD_FORMAT", "column '" + column + "' wants an ISO-8601 timestamp with a zone, found '" + shortened(text) + "'");
  }

  static Rejection outOfRange(String column, char[] text, int from, int length) {
    return new Rejection("OUT_OF_RANGE", "column '" + column + "' cannot hold " + shortened(new String(text, from, length)));
  }

  private static String shortened(String text) { return text.length() <= 40 ? text : text.substring(0, 40) + "…"; }
}
