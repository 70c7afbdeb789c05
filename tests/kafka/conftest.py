"""Loads configurations, as the tests of the configuration do."""

from tests.config.conftest import load_text, minimal, problems

__all__ = ["load_text", "minimal", "problems"]
