"""Live tables: a generation's changelog folded into columns in memory, and the catalog of public names."""
