"""The jars that jars.lock lists, downloaded once, verified, and kept in the cache folder."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from evertable.errors import JarChecksumError, JarsUnavailableError
from evertable.install import ivy
from evertable.install.cache import cache_folder, created_atomically, locked
from evertable.install.ivy import Coordinate

SetName = Literal["engine", "broker", "ecj"]
SETS: tuple[SetName, ...] = get_args(SetName)
LOCK_FILE = Path(__file__).parent / "jars.lock"
_verified: set[Path] = set()  # hashing 60 MB takes a tenth of a second: once per process is enough


@dataclass(frozen=True, order=True)
class LockedJar:
    """One line of jars.lock: a jar's set, its coordinate and its checksum."""

    set_name: str
    coordinate: Coordinate
    sha256: str

    @classmethod
    def parse(cls, line: str) -> LockedJar:
        set_name, coordinate, digest = line.split()
        return cls(set_name, Coordinate.parse(coordinate), digest)

    def __str__(self) -> str:
        return f"{self.set_name} {self.coordinate} {self.sha256}"


def read_lock(file: Path) -> list[LockedJar]:
    lines = (line.strip() for line in file.read_text(encoding="utf-8").splitlines())
    return [LockedJar.parse(line) for line in lines if line and not line.startswith("#")]


def jar_paths(name: SetName, progress: Callable[[str], None] = lambda _line: None) -> list[Path]:
    """Returns the verified jars of a set; downloads them on first use."""
    jars = [jar for jar in read_lock(LOCK_FILE) if jar.set_name == name]
    home = cache_folder() / "jars" / f"{name}-{_fingerprint(jars)}"
    if home not in _verified:
        if not _is_complete(jars, home):  # missing or damaged
            with locked(name):
                if not _is_complete(jars, home):  # another process may have downloaded them meanwhile
                    progress(f"{name} jars: downloading {len(jars)}")
                    with created_atomically(home) as scratch:
                        _download(jars, scratch)
        _verified.add(home)
    return [home / jar.coordinate.file_name for jar in jars]


def _download(jars: list[LockedJar], scratch: Path) -> None:
    downloads = scratch / "downloads"
    paths = ivy.retrieve([jar.coordinate for jar in jars], downloads, quick=True)
    for jar in jars:
        if jar.coordinate not in paths:
            raise JarsUnavailableError(f"Ivy reported success but did not download {jar.coordinate}.")
        paths[jar.coordinate].rename(scratch / jar.coordinate.file_name)
    shutil.rmtree(downloads)
    for jar, actual in _mismatches(jars, scratch):
        raise JarChecksumError(
            f"{jar.coordinate} hashes to {actual}, but jars.lock lists {jar.sha256}.",
            "Nothing was kept. The download is damaged or not the released jar: try again with another mirror.",
        )


def _is_complete(jars: Iterable[LockedJar], folder: Path) -> bool:
    return next(iter(_mismatches(jars, folder)), None) is None


def _mismatches(jars: Iterable[LockedJar], folder: Path) -> Iterator[tuple[LockedJar, str]]:
    for jar in jars:
        actual = sha256_of(folder / jar.coordinate.file_name)
        if actual != jar.sha256:
            yield jar, actual


def sha256_of(file: Path) -> str:
    """Returns the file's sha256 in hex, or "nothing" if there is no file."""
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return "nothing"


def _fingerprint(jars: list[LockedJar]) -> str:
    return hashlib.sha256("\n".join(map(str, jars)).encode()).hexdigest()[:12]
