package dev.evertable;

/** Why a record cannot be a row; thrown inside the parser only, without a stack trace because bad input is no surprise. */
final class Rejection extends Exception {
  private static final long serialVersionUID = 1;

  Rejection(String condition, String sentence) { super(condition + ": " + sentence, null, false, false); }
}
