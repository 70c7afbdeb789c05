package dev.evertable;

/** Ends what the tasks of a query have left in this JVM for an epoch that will not come. */
public final class EndedQuery {
  private EndedQuery() {}

  /** Closes its idle consumers and producers; returns whether no task uses any of them any more. */
  public static boolean release(String query) {
    return TopicReader.HELD.close(query + "/") & ChangelogWriter.HELD.close(query + "/");
  }
}
