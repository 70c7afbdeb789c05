"""What data looks like: columns, joins and wirings."""
