"""Configuration is a core without I/O clients: it can be read anywhere, quickly."""

from __future__ import annotations

import subprocess
import sys


def test_no_client_is_imported() -> None:
    """Neither Spark nor Kafka's client nor the web server is loaded with it."""
    heavy = ("pyspark", "confluent_kafka", "starlette", "py4j", "numpy", "pyarrow")
    program = f"import sys, evertable.config; print([m for m in {heavy} if m in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"
