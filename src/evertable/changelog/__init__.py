"""The changelog: its format, its reader, and when a generation is caught up. See docs/CHANGELOG-FORMAT.md.

Pure, without a client library:

- ``schema``, ``ids``: the layout of records, and row ids;
- ``decode`` with ``block``, ``batches`` and ``rows``: decodes many messages at once to ``changes``;
- ``coverage``, ``caught_up``: which source records have been read, and whether that is the whole backlog;
- ``resumption``: whether a changelog is complete enough to resume its generation.

With Kafka:

- ``reader``: reads a changelog topic as a stream of Changes;
- ``backlog``: finds the records that the sources' topics hold when a build begins;
- ``topics``: names, creates, lists and deletes changelog topics.
"""
