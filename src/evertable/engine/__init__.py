"""The engine: one Spark JVM in a child process that runs one streaming query for each generation."""
