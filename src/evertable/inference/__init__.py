"""Infers a first configuration from the records of two topics."""
