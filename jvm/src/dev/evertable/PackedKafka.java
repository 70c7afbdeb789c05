package dev.evertable;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.PartitionOffset;
import org.apache.spark.sql.connector.read.streaming.ReadAllAvailable;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.SupportsAdmissionControl;
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeMode;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.kafka010.KafkaSourceProvider;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The connector's Kafka source, with its records parsed and packed: {@link PackedReader} tells why. All else, offsets
 * above all, is the connector's; its options are this one's, and {@code layout} is what {@link SourceLayout} reads.
 */
public final class PackedKafka implements TableProvider {
  static final StructType SCHEMA = new StructType().add("packs", DataTypes.createArrayType(
      new StructType().add("bucket", DataTypes.IntegerType, false).add("records", DataTypes.BinaryType, false), false), false);

  private final TableProvider kafka = new KafkaSourceProvider();

  @Override public StructType inferSchema(CaseInsensitiveStringMap options) { return SCHEMA; }

  @Override public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) {
    StructType theirs = kafka.inferSchema(new CaseInsensitiveStringMap(properties));
    return new Packed((SupportsRead) kafka.getTable(theirs, partitioning, properties));
  }

  private record Packed(SupportsRead kafka) implements SupportsRead {
    @Override public String name() { return kafka.name(); }

    @Override public StructType schema() { return SCHEMA; }

    @Override public Set<TableCapability> capabilities() { return EnumSet.of(TableCapability.MICRO_BATCH_READ); }

    @Override public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
      return () -> new PackedScan(
          kafka.newScanBuilder(options).build(), options.get("layout"), options.get("startingOffsets"));
    }
  }

  private record PackedScan(Scan kafka, String layout, String start) implements Scan {
    @Override public StructType readSchema() { return SCHEMA; }

    @Override public MicroBatchStream toMicroBatchStream(String checkpoint) {
      try {
        return new Stream(kafka.toMicroBatchStream(checkpoint), new SourceLayout(layout), start);
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    @Override public CustomMetric[] supportedCustomMetrics() { return kafka.supportedCustomMetrics(); }
  }

  /**
   * The connector's stream, with fewer round trips to Kafka, each of which delays a swap. Its metrics, for which it would
   * ask for all ends after each epoch, are not offered; nobody reads them.
   */
  private static final class Stream implements MicroBatchStream, SupportsAdmissionControl, SupportsRealTimeMode {
    private final SourceLayout layout;
    private final MicroBatchStream kafka; // by all of its interfaces
    private final SupportsAdmissionControl admission;
    private final SupportsRealTimeMode realTime;
    private final Offset start; // as the build found it
    private CompletableFuture<Offset> firstEnds; // null once it was used
    private boolean isPastFirst = true; // until an epoch of this start has ended

    Stream(MicroBatchStream kafka, SourceLayout layout, String startingOffsets) {
      this.layout = layout;
      this.kafka = kafka;
      admission = (SupportsAdmissionControl) kafka;
      realTime = (SupportsRealTimeMode) kafka;
      start = kafka.deserializeOffset(startingOffsets);
      // Spark asks one source after the other; so each begins to connect and to ask at once.
      firstEnds = CompletableFuture.supplyAsync(
          () -> admission.latestOffset(start, ReadLimit.allAvailable()), task -> daemon(task).start());
    }

    private static Thread daemon(Runnable task) {
      Thread thread = new Thread(task, "evertable-first-ends");
      thread.setDaemon(true);
      return thread;
    }

    @Override public PartitionReaderFactory createReaderFactory() {
      return new PackedReader.Factory(kafka.createReaderFactory(), layout, shufflePartitions(), isPastFirst);
    }

    /** Of this query: what its first start has written into its checkpoint, whatever the session says by now. */
    private static int shufflePartitions() {
      return Integer.parseInt(SQLConf.get().getConfString("spark.sql.streaming.internal.stateStore.partitions"));
    }

    /** The connector would ask Kafka first whether the topic still has the partitions that the build saw. */
    @Override public Offset initialOffset() { return start; }

    @Override public Offset latestOffset() { return kafka.latestOffset(); }

    @Override public Offset latestOffset(Offset from, ReadLimit limit) {
      CompletableFuture<Offset> asked = firstEnds;
      firstEnds = null;
      try {
        Offset ends = asked == null ? null : asked.join(); // the connector's reader is for one thread at a time
        if (ends != null && from.equals(start) && limit instanceof ReadAllAvailable) return ends;
      } catch (CompletionException e) {
        // asked once more below, where Spark sees the failure
      }
      return admission.latestOffset(from, limit);
    }

    @Override public Offset reportLatestOffset() { return admission.reportLatestOffset(); }

    @Override public ReadLimit getDefaultReadLimit() { return admission.getDefaultReadLimit(); }

    @Override public void prepareForRealTimeMode() { realTime.prepareForRealTimeMode(); }

    @Override public InputPartition[] planInputPartitions(Offset start) { return realTime.planInputPartitions(start); }

    @Override public InputPartition[] planInputPartitions(Offset start, Offset end) { return kafka.planInputPartitions(start, end); }

    /** Called at the end of each epoch. */
    @Override public Offset mergeOffsets(PartitionOffset[] offsets) {
      isPastFirst = false;
      return realTime.mergeOffsets(offsets);
    }

    @Override public Offset deserializeOffset(String json) { return kafka.deserializeOffset(json); }

    @Override public void commit(Offset end) { kafka.commit(end); }

    @Override public void stop() {
      CompletableFuture<Offset> asked = firstEnds;
      kafka.stop();
      if (asked != null) asked.whenComplete((ends, failure) -> kafka.stop()); // it may have connected anew
    }

    @Override public String toString() { return kafka.toString(); }
  }
}
