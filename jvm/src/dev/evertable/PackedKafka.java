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
import org.apache.spark.sql.connector.read.streaming.SupportsRealTimeMode;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
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

    @Override public ColumnarSupportMode columnarSupportMode() { return ColumnarSupportMode.UNSUPPORTED; }
  }

  private static final class Stream implements MicroBatchStream, SupportsTriggerAvailableNow, SupportsRealTimeMode, ReportsSourceMetrics {
    private final MicroBatchStream kafka;
    private final SupportsTriggerAvailableNow limited; // the same one
    private final SupportsRealTimeMode unlimited; // the same one
    private final SourceLayout layout;

    Stream(MicroBatchStream kafka, SourceLayout layout) {
      this.kafka = kafka;
      limited = (SupportsTriggerAvailableNow) kafka;
      unlimited = (SupportsRealTimeMode) kafka;
      this.layout = layout;
    }

    @Override public PartitionReaderFactory createReaderFactory() {
      return new PackedReader.Factory(kafka.createReaderFactory(), layout, shufflePartitions());
    }

    /** Of this query: what its first start has written into its checkpoint, whatever the session says by now. */
    private static int shufflePartitions() {
      SQLConf conf = SQLConf.get();
      return Integer.parseInt(conf.getConfString("spark.sql.streaming.internal.stateStore.partitions", String.valueOf(conf.numShufflePartitions())));
    }

    @Override public Offset initialOffset() { return kafka.initialOffset(); }

    @Override public Offset latestOffset() { return kafka.latestOffset(); }

    @Override public Offset latestOffset(Offset start, ReadLimit limit) { return limited.latestOffset(start, limit); }

    @Override public Offset reportLatestOffset() { return limited.reportLatestOffset(); }

    @Override public ReadLimit getDefaultReadLimit() { return limited.getDefaultReadLimit(); }

    @Override public void prepareForTriggerAvailableNow() { limited.prepareForTriggerAvailableNow(); }

    @Override public void prepareForRealTimeMode() { unlimited.prepareForRealTimeMode(); }

    @Override public InputPartition[] planInputPartitions(Offset start) { return unlimited.planInputPartitions(start); }

    @Override public InputPartition[] planInputPartitions(Offset start, Offset end) { return kafka.planInputPartitions(start, end); }

    @Override public Offset mergeOffsets(PartitionOffset[] offsets) { return unlimited.mergeOffsets(offsets); }

    @Override public Offset deserializeOffset(String json) { return kafka.deserializeOffset(json); }

    @Override public Map<String, String> metrics(Optional<Offset> latest) { return ((ReportsSourceMetrics) kafka).metrics(latest); }

    @Override public void commit(Offset end) { kafka.commit(end); }

    @Override public void stop() { kafka.stop(); }

    @Override public String toString() { return kafka.toString(); }
  }
}
