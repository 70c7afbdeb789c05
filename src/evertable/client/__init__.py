"""The Python client: pages of live tables, watched or read whole."""
