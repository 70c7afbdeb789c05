package dev.evertable;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.EnumSet;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * Evertable's streaming source: all topics of a generation, parsed and packed where they are read. {@link ReadPlan} has
 * its options, {@link TopicReader} its rows.
 */
public final class Topics implements TableProvider {
  static final StructType SCHEMA = new StructType().add("packs", DataTypes.createArrayType(
      new StructType().add("bucket", DataTypes.IntegerType, false).add("records", DataTypes.BinaryType, false), false), false);

  @Override public StructType inferSchema(CaseInsensitiveStringMap options) { return SCHEMA; }

  @Override public Table getTable(StructType schema, Transform[] partitioning, Map<String, String> properties) { return new TopicsTable(); }

  private static final class TopicsTable implements SupportsRead {
    @Override public String name() { return "topics"; }

    @Override public StructType schema() { return SCHEMA; }

    @Override public Set<TableCapability> capabilities() { return EnumSet.of(TableCapability.MICRO_BATCH_READ); }

    @Override public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
      return () -> new TopicsScan(options.asCaseSensitiveMap());
    }
  }

  private record TopicsScan(Map<String, String> options) implements Scan {
    @Override public StructType readSchema() { return SCHEMA; }

    @Override public MicroBatchStream toMicroBatchStream(String checkpoint) {
      try {
        return new TopicStream(new ReadPlan(options));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }

    @Override public String toString() { return "TopicsScan"; } // the options hold secrets
  }
}
