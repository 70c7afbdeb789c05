package dev.evertable;

/** The changelog is not the topic any more that was written to, or has lost its end. */
final class ChangelogLostException extends IllegalStateException {
  private static final long serialVersionUID = 1;

  ChangelogLostException(String topic, int partition, long last, long now) {
    super("the changelog " + topic + " was deleted or cut: partition " + partition + " had acknowledged offset " + last
        + ", and then " + now);
  }
}
