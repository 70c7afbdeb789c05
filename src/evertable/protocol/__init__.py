"""``evertable.v1``, frame by frame: docs/PROTOCOL.md as code, without a socket.

- ``frames``: what clients send, parsed strictly; close codes and limits;
- ``answers``: what servers send. Page, patch and total are a prefix of one subscription and a tail that all share;
- ``values``: rows of a table as JSON values; ``decoding``: JSON values as Python's own;
- ``page``: the whole of what a view shows; ``patch``: what changed in it.
"""
