"""The protocol ``evertable.v1`` without a socket: docs/PROTOCOL.md as code.

- ``frames``: parses what clients send; close codes and limits;
- ``answers``: encodes what servers send; ``page`` and ``patch``: the tails of two of these frames;
- ``values``: encodes the rows of a table as JSON values; ``decoding``: decodes them to Python's types.
"""
