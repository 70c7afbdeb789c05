"""The join operator's jar: compiled from jvm/ in a source tree, and part of an installed wheel."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

from evertable.errors import OperatorError
from evertable.install.cache import locked
from evertable.install.environment import child_environment
from evertable.install.ivy import pyspark_jars
from evertable.install.jars import jar_paths
from evertable.install.java import find_java

JAR = Path(__file__).parent / "evertable-operator.jar"
SOURCES = Path(__file__).parents[3] / "jvm" / "src"  # only there in a source tree
_RELEASE = "17"  # the oldest Java that Evertable runs on
_MANIFEST = "META-INF/MANIFEST.MF"
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the same sources give the same jar, byte for byte


def operator_jar(progress: Callable[[str], None] = lambda _line: None) -> Path:
    """Returns the jar for ``spark.jars``; in a source tree, compiles it whenever its sources have changed."""
    if not SOURCES.is_dir():
        if not JAR.is_file():
            raise OperatorError(
                "The join operator is missing from this installation.", "Install the evertable wheel again."
            )
        return JAR
    if not is_current(JAR, SOURCES):
        with locked("operator"):
            if not is_current(JAR, SOURCES):  # another process may have built it meanwhile
                progress("join operator: compiling")
                build(SOURCES, JAR)
    return JAR


def is_current(jar: Path, sources: Path) -> bool:
    """Returns whether the jar was built from exactly these sources and for the installed pyspark."""
    return made_from(jar, sources) and _built_for() in _read_manifest(jar)


def made_from(jar: Path, sources: Path) -> bool:
    """Returns whether the jar was built from exactly these sources; needs no pyspark, so a wheel build can call it."""
    return f"Evertable-Sources: {_digest(sources)}" in _read_manifest(jar)


def build(sources: Path, jar: Path) -> None:
    """Compiles all Java below ``sources`` into a jar with ecj, which needs no JDK."""
    files = _java_files(sources)
    if not files:
        raise OperatorError(f"There is no Java source in {sources}.", "Check the clone out again.")
    manifest = _manifest(sources)  # before compiling, so that a file saved meanwhile counts as changed
    with tempfile.TemporaryDirectory(prefix="evertable-operator-") as classes:
        _compile(files, Path(classes))
        _pack(Path(classes), manifest, jar)


def _compile(files: Sequence[Path], into: Path) -> None:
    [ecj] = jar_paths("ecj")
    classpath = [*sorted(pyspark_jars().glob("*.jar")), *jar_paths("engine")]
    command = [str(find_java().executable), "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-jar", str(ecj)]
    command += [f"-{_RELEASE}", "-proc:none", "-nowarn", "-encoding", "UTF-8", "-d", str(into)]
    command += ["-cp", os.pathsep.join(map(str, classpath)), *map(str, files)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=child_environment())
    if done.returncode != 0:
        output = (done.stdout + done.stderr).strip()
        raise OperatorError(
            f"The join operator does not compile.\n{output}\nNext:",
            "correct these files, or check them out again; then run scripts/setup.",
        )


def _pack(classes: Path, manifest: str, jar: Path) -> None:
    scratch = jar.with_suffix(f".{os.getpid()}.tmp")
    try:
        with zipfile.ZipFile(scratch, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(zipfile.ZipInfo(_MANIFEST, _EPOCH), manifest)
            for file in sorted(path for path in classes.rglob("*") if path.is_file()):
                entry = zipfile.ZipInfo(file.relative_to(classes).as_posix(), _EPOCH)
                archive.writestr(entry, file.read_bytes(), zipfile.ZIP_DEFLATED)
        scratch.replace(jar)
    finally:
        scratch.unlink(missing_ok=True)


def _manifest(sources: Path) -> str:
    return f"Manifest-Version: 1.0\r\nEvertable-Sources: {_digest(sources)}\r\n{_built_for()}\r\n\r\n"


def _built_for() -> str:
    return f"Evertable-Built-For: pyspark {importlib.metadata.version('pyspark')}"


def _read_manifest(jar: Path) -> list[str]:
    try:
        with zipfile.ZipFile(jar) as archive:
            return archive.read(_MANIFEST).decode().splitlines()
    except (OSError, KeyError, zipfile.BadZipFile):
        return []


def _digest(sources: Path) -> str:
    digest = hashlib.sha256()
    for file in _java_files(sources):
        digest.update(f"{file.relative_to(sources).as_posix()}\0".encode())
        digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:40]  # a manifest's line may hold 72 bytes at most


def _java_files(sources: Path) -> list[Path]:
    return sorted(sources.rglob("*.java"))
