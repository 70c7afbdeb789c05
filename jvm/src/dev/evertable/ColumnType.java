package dev.evertable;

/** The kinds of columns and how many bytes each takes in the fixed part of a row. */
enum ColumnType {
  BOOLEAN(1), INT(4), LONG(8), FLOAT(4), DOUBLE(8), DECIMAL(16), DATE(4), TIMESTAMP(8), STRING(4), JSON(4);

  final int size;

  ColumnType(int size) { this.size = size; }

  boolean isText() { return this == STRING || this == JSON; }
}
