"""The changelog: its format, its reader, and when a generation is caught up. See docs/CHANGELOG-FORMAT.md."""
