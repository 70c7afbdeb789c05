"""The demo: an embedded broker with changing sample data, and the configuration of a server for it."""

from evertable.demo.environment import DemoEnvironment

__all__ = ["DemoEnvironment"]
