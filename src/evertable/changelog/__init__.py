"""The changelog: its format, its reader, and when a generation is caught up. See docs/CHANGELOG-FORMAT.md.

Pure, without a client library:

- ``schema``, ``ids``, ``names``: the layout of records, row ids, names of topics;
- ``decode`` with ``block``, ``batches`` and ``rows``: messages back to ``changes``, many at once;
- ``coverage``, ``caught_up``: which source records have been seen, and whether that is all there was.

Around it, with Kafka:

- ``reader``: a changelog topic as a stream of Changes;
- ``targets``: what the sources' topics held when a build began;
- ``topics``: changelog topics made, listed and deleted;
- ``kafka``: what these three have in common.
"""
