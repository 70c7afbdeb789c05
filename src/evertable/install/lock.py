"""``python -m evertable.install.lock``, with which maintainers rewrite jars.lock from the versions below."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from evertable.install import ivy
from evertable.install.ivy import Coordinate
from evertable.install.jars import LOCK_FILE, LockedJar, SetName, sha256_of

# All else that Kafka's clients depend on is part of Spark.
_WITHOUT_DEPENDENCIES: dict[SetName, tuple[str, ...]] = {
    "engine": ("org.apache.kafka:kafka-clients:4.3.1", "org.bitbucket.b_c:jose4j:0.9.6"),  # jose4j: for OAuth
    "ecj": ("org.eclipse.jdt:ecj:3.42.0",),
}
# The broker logs through slf4j 1.7; without the binding its log would be lost.
_WITH_DEPENDENCIES: dict[SetName, tuple[str, ...]] = {
    "broker": ("org.apache.kafka:kafka_2.13:4.3.1", "org.apache.logging.log4j:log4j-slf4j-impl:2.25.4"),
}
_HEADER = "# set, group:artifact:version, sha256. Written by `python -m evertable.install.lock`; do not edit.\n"


def main() -> int:
    found = [jar for name, roots in _WITHOUT_DEPENDENCIES.items() for jar in _resolve(name, roots, transitive=False)]
    found += [jar for name, roots in _WITH_DEPENDENCIES.items() for jar in _resolve(name, roots, transitive=True)]
    LOCK_FILE.write_text(_HEADER + "".join(f"{jar}\n" for jar in sorted(found)), encoding="utf-8")
    print(f"{LOCK_FILE}: {len(found)} jars")  # noqa: T201 - this is a command
    return 0


def _resolve(name: SetName, roots: tuple[str, ...], *, transitive: bool) -> list[LockedJar]:
    with tempfile.TemporaryDirectory(prefix="evertable-lock-") as folder:
        fetched = ivy.retrieve([Coordinate.parse(root) for root in roots], Path(folder), transitive=transitive)
        return [LockedJar(name, coordinate, sha256_of(jar)) for coordinate, jar in fetched.items()]


if __name__ == "__main__":
    sys.exit(main())
