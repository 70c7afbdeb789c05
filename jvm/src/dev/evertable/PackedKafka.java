package dev.evertable;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.EnumSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
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
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.ReportsSourceMetrics;
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
      return () -> new PackedScan(kafka.newScanBuilder(options).build(), options.get("layout"));
    }
  }

  private record PackedScan(Scan kafka, String layout) implements Scan {
    @Override public StructType readSchema() { return SCHEMA; }

    @Override public MicroBatchStream toMicroBatchStream(String checkpoint) {
      try {
        return new Stream(kafka.toMicroBatchStream(checkpoint), new SourceLayout(layout));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    @Override public CustomMetric[] supportedCustomMetrics() { return kafka.supportedCustomMetrics(); }
  }

  private static final class Stream implements MicroBatchStream, SupportsAdmissionControl, SupportsRealTimeMode, ReportsSourceMetrics {
    private final SourceLayout layout;
    private final MicroBatchStream kafka; // by all of its interfaces
    private final SupportsAdmissionControl admission;
    private final SupportsRealTimeMode realTime;
    private final ReportsSourceMetrics reports;
    private boolean isPastFirst = true; // until an epoch of this start has ended

    Stream(MicroBatchStream kafka, SourceLayout layout) {
      this.layout = layout;
      this.kafka = kafka;
      admission = (SupportsAdmissionControl) kafka;
      realTime = (SupportsRealTimeMode) kafka;
      reports = (ReportsSourceMetrics) kafka;
    }

    @Override public PartitionReaderFactory createReaderFactory() {
      return new PackedReader.Factory(kafka.createReaderFactory(), layout, shufflePartitions(), isPastFirst);
    }

    /** Of this query: what its first start has written into its checkpoint, whatever the session says by now. */
    private static int shufflePartitions() {
      return Integer.parseInt(SQLConf.get().getConfString("spark.sql.streaming.internal.stateStore.partitions"));
    }

    @Override public Offset initialOffset() { return kafka.initialOffset(); }

    @Override public Offset latestOffset() { return kafka.latestOffset(); }

    @Override public Offset latestOffset(Offset start, ReadLimit limit) { return admission.latestOffset(start, limit); }

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

    @Override public Map<String, String> metrics(Optional<Offset> latest) { return reports.metrics(latest); }

    @Override public void commit(Offset end) { kafka.commit(end); }

    @Override public void stop() { kafka.stop(); }

    @Override public String toString() { return kafka.toString(); }
  }
}
