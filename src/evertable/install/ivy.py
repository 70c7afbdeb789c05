"""Downloads jars from Maven with the Ivy that is part of pyspark."""

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
from evertable.install.environment import child_environment
from evertable.install.java import find_java

SETTINGS_VARIABLE = "EVERTABLE_IVY_SETTINGS"  # an Ivy settings file, for a company's own Maven mirror
_TIMEOUT_S = 900
# Without these timeouts Ivy would wait without end for a silent network.
_NETWORK = ["-Dsun.net.client.defaultConnectTimeout=10000", "-Dsun.net.client.defaultReadTimeout=60000"]
_PATTERN = "[organisation]/[artifact]/[revision]/[artifact]-[revision].[ext]"
_DESCRIPTOR = "[organisation]/[module]/[revision]/ivy.xml"
_NO_POMS = """<ivysettings><settings defaultResolver="maven"/>
<resolvers><ibiblio name="maven" m2compatible="true" usepoms="false" useMavenMetadata="false"/></resolvers>
</ivysettings>
"""
_NETWORK_ERROR = re.compile(r"^Host .* not found|access error|refused|timed? ?out|certif|ssl", re.IGNORECASE)
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
    """Returns the folder of Spark's own jars, without importing pyspark, which is slow."""
    spec = importlib.util.find_spec("pyspark")
    if spec is None or not spec.submodule_search_locations:
        raise SetupError("pyspark is not installed.", "Install Evertable's dependencies again (scripts/setup, or pip).")
    return Path(spec.submodule_search_locations[0]) / "jars"


def retrieve(
    coordinates: Sequence[Coordinate],
    into: Path,
    *,
    transitive: bool = False,
    quick: bool = False,
    descriptors: Path | None = None,
) -> dict[Coordinate, Path]:
    """Downloads jars into a folder, with ``transitive`` also their dependencies, and returns the path of each.

    ``quick`` is for callers that verify the jars: it downloads neither poms nor checksums, which is five times as
    fast. ``descriptors`` is a folder for Ivy's form of each jar's pom, as ``group/artifact/version/ivy.xml``.
    """
    with tempfile.TemporaryDirectory(prefix="evertable-ivy-") as scratch:
        module, no_poms = Path(scratch) / "ivy.xml", Path(scratch) / "ivysettings.xml"
        module.write_text(_module(coordinates, transitive=transitive), encoding="utf-8")
        no_poms.write_text(_NO_POMS, encoding="utf-8")
        settings = os.environ.get(SETTINGS_VARIABLE) or (str(no_poms) if quick else None)
        [ivy] = pyspark_jars().glob("ivy-*.jar")
        command = [str(find_java().executable), "-Xmx256m", "-XX:+UseSerialGC", *_NETWORK]
        command += ["-Divy.checksums="] if quick else []
        command += ["-cp", str(ivy), "org.apache.ivy.Main", "-cache", f"{scratch}/cache"]
        command += ["-settings", settings] if settings else []
        command += ["-ivy", str(module), "-confs", "default", "-retrieve", f"{into}/{_PATTERN}"]
        command += ["-ivypattern", f"{descriptors}/{_DESCRIPTOR}"] if descriptors else []
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False, env=child_environment()
            )
        except subprocess.TimeoutExpired as error:
            raise _unavailable(coordinates, f"Ivy needed more than {_TIMEOUT_S} s") from error
    if done.returncode != 0:
        raise _unavailable(coordinates, _reason((done.stdout + done.stderr).splitlines()))
    return {Coordinate(*jar.parent.relative_to(into).parts): jar for jar in sorted(into.glob("*/*/*/*.jar"))}


def _module(coordinates: Sequence[Coordinate], *, transitive: bool) -> str:
    dependencies = "\n".join(
        f"  <dependency org={quoteattr(one.group)} name={quoteattr(one.artifact)} rev={quoteattr(one.version)}"
        f' conf="default-&gt;default" transitive="{str(transitive).lower()}"/>'
        for one in coordinates
    )
    return (
        '<ivy-module version="2.0">\n<info organisation="dev.evertable" module="runtime"/>\n'
        f'<configurations><conf name="default"/></configurations>\n<dependencies>\n{dependencies}\n</dependencies>\n'
        "</ivy-module>\n"
    )


def _unavailable(coordinates: Sequence[Coordinate], reason: str) -> JarsUnavailableError:
    more = f" and {len(coordinates) - 3} more" if len(coordinates) > 3 else ""
    named = ", ".join(map(str, coordinates[:3])) + more
    return JarsUnavailableError(
        f"Could not fetch {named}: {reason.rstrip('.')}.",
        "Check the network. Behind a proxy set JAVA_TOOL_OPTIONS=-Dhttps.proxyHost=…; with a Maven mirror of"
        f" your own point {SETTINGS_VARIABLE} at an Ivy settings file. Then run `evertable setup` again.",
    )


def _reason(output: Sequence[str]) -> str:
    """Extracts the reason from Ivy's long output: a network error if there was one, else what is missing."""
    lines = [re.sub(r"\s*url=\S+", "", line).strip().strip(": ") for line in output]
    network_error = next(filter(_NETWORK_ERROR.search, lines), "")
    missing = dict.fromkeys(filter(_MISSING.search, lines))
    return network_error or "; ".join(missing) or " ".join(lines[-3:])
