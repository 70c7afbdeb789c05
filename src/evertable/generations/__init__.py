"""Generations: one immutable wiring each, from build to retirement."""
