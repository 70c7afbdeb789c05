"""``evertable.v1``, frame by frame: docs/PROTOCOL.md as code, without a socket."""
