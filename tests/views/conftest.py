"""Disables the deadline of property tests, as other processes may use the cores."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
