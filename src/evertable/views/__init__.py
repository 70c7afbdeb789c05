"""Views: columns, sort, filter, offset and limit over a live table."""
