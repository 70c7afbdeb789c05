"""Fetches jars from Maven with the Ivy that comes inside pyspark."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import quoteattr

from evertable.errors import JarsUnavailableError, SetupError
from evertable.runtime.java import find_java

SETTINGS_VARIABLE = "EVERTABLE_IVY_SETTINGS"  # an Ivy settings file, for a company's own Maven mirror
_TIMEOUT_S = 900
# Without these a silent network would keep Ivy waiting for ever.
_NETWORK = ["-Dsun.net.client.defaultConnectTimeout=15000", "-Dsun.net.client.defaultReadTimeout=60000"]
_NETWORK_TROUBLE = re.compile(r"^Host .* not found|access error|refused|timed? ?out|certif|ssl|proxy", re.IGNORECASE)
_MISSING = re.compile(r"^\S+#\S+;\S+: .*not found")


@dataclass(frozen=True, order=True)
class Coordinate:
    """A jar's name in Maven: group, artifact, version."""

    group: str
    artifact: str
    version: str

    @classmethod
    def parse(cls, text: str) -> Coordinate:
        group, artifact, version = text.split(":")
        return cls(group, artifact, version)

    @property
    def file_name(self) -> str:
        return f"{self.artifact}-{self.version}.jar"

    def __str__(self) -> str:
        return f"{self.group}:{self.artifact}:{self.version}"


def pyspark_jars() -> Path:
    """The folder of Spark's own jars; found without importing pyspark, which is slow."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        raise SetupError("pyspark is not installed.", "Install Evertable's dependencies again (scripts/setup, or pip).")
    return Path(spec.submodule_search_locations[0]) / "jars"


def retrieve(wanted: Sequence[Coordinate], into: Path, *, transitive: bool = False) -> dict[Coordinate, Path]:
    """Downloads the jars somewhere below a folder, and with ``transitive`` all that they need; says where each is."""
    with tempfile.TemporaryDirectory(prefix="evertable-ivy-") as scratch:
        module = Path(scratch) / "ivy.xml"
        module.write_text(_module(wanted, transitive=transitive), encoding="utf-8")
        pattern = f"{into}/[organisation]/[artifact]/[revision]/[artifact]-[revision].[ext]"
        command = [str(find_java().executable), "-Xmx256m", "-XX:+UseSerialGC", *_NETWORK]
        command += ["-cp", str(_ivy_jar()), "org.apache.ivy.Main", "-warn", "-cache", f"{scratch}/cache"]
        if settings := os.environ.get(SETTINGS_VARIABLE):
            command += ["-settings", settings]
        command += ["-ivy", str(module), "-confs", "default", "-retrieve", pattern]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
        except subprocess.TimeoutExpired as error:
            raise _unavailable(wanted, f"Ivy did not finish within {_TIMEOUT_S} s.") from error
    if done.returncode != 0:
        raise _unavailable(wanted, _reason(done.stdout + done.stderr))
    return {Coordinate(*jar.parent.relative_to(into).parts): jar for jar in sorted(into.glob("*/*/*/*.jar"))}


def _ivy_jar() -> Path:
    found = sorted(pyspark_jars().glob("ivy-*.jar"))
    if not found:
        raise SetupError(f"There is no Ivy in {pyspark_jars()}.", "Install pyspark again.")
    return found[-1]


def _module(wanted: Sequence[Coordinate], *, transitive: bool) -> str:
    mapping = "default->default" if transitive else "default->master"
    dependencies = "\n".join(
        f"  <dependency org={quoteattr(one.group)} name={quoteattr(one.artifact)} rev={quoteattr(one.version)}"
        f' conf="{mapping}" transitive="{str(transitive).lower()}"/>'
        for one in wanted
    )
    return (
        '<ivy-module version="2.0">\n<info organisation="dev.evertable" module="runtime"/>\n'
        f'<configurations><conf name="default"/></configurations>\n<dependencies>\n{dependencies}\n</dependencies>\n'
        "</ivy-module>\n"
    )


def _unavailable(wanted: Sequence[Coordinate], reason: str) -> JarsUnavailableError:
    named = ", ".join(str(one) for one in wanted[:3]) + (f" and {len(wanted) - 3} more" if len(wanted) > 3 else "")
    return JarsUnavailableError(
        f"Could not fetch {named}: {reason.rstrip('.')}.",
        f"Is the network there? Behind a proxy set JAVA_TOOL_OPTIONS=-Dhttps.proxyHost=…; with a Maven mirror of"
        f" your own point {SETTINGS_VARIABLE} at an Ivy settings file. Then run `evertable setup` again.",
    )


def _reason(output: str) -> str:
    """What went wrong, out of Ivy's long output: trouble with the network if there was any, else what is missing."""
    lines = [re.sub(r"\s*url=\S+", "", line).strip(" :\t") for line in output.splitlines()]
    trouble = next(filter(_NETWORK_TROUBLE.search, lines), "")
    missing = dict.fromkeys(filter(_MISSING.search, lines))
    return trouble or "; ".join(missing) or " ".join(lines[-3:])
