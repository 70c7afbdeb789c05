"""The demo: a real broker with sample data that moves, and all of Evertable over it."""

from evertable.demo.stage import Stage

__all__ = ["Stage"]
