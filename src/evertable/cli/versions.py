"""What ``evertable --version`` tells: all that a report of trouble should name."""

from __future__ import annotations

import importlib.metadata
import platform
import sys
from collections.abc import Iterator

from evertable import __version__
from evertable.errors import EvertableError


def versions() -> Iterator[tuple[str, str]]:
    """A label and a text for each part. Runs ``java -version``, which takes a tenth of a second, and no other JVM."""
    from evertable.install.jars import LOCK_FILE, read_lock
    from evertable.web import is_built

    locked = {(jar.set_name, jar.coordinate.artifact): jar.coordinate.version for jar in read_lock(LOCK_FILE)}
    yield "evertable", __version__
    yield "Python", f"{platform.python_version()} at {sys.executable}"
    yield "PySpark", _installed("pyspark")
    yield "connector", f"{locked['connector', _CONNECTOR]}, with kafka-clients {locked['connector', 'kafka-clients']}"
    yield "broker", f"Kafka {locked['broker', 'kafka_2.13']}, for evertable broker and evertable demo"
    yield "Java", _java()
    yield "web page", "built" if is_built() else "not built: run scripts/setup"


_CONNECTOR = "spark-sql-kafka-0-10_2.13"


def _installed(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _java() -> str:
    from evertable.install.java import find_java

    try:
        found = find_java()
    except EvertableError as error:
        return f"none that will do. {error.what}"
    return f"{found.version} at {found.home}"
