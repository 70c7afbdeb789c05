"""The jars that jars.lock names, downloaded once, checked against it, and kept in the cache folder."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from evertable.errors import JarChecksumError, JarsUnavailableError
from evertable.install import ivy
from evertable.install.cache import appearing, cache_folder, locked
from evertable.install.ivy import Coordinate

SetName = Literal["connector", "broker", "ecj"]
SETS: tuple[SetName, ...] = get_args(SetName)
LOCK_FILE = Path(__file__).parent / "jars.lock"
_verified: set[Path] = set()  # hashing 60 MB takes a tenth of a second: once per process is enough


@dataclass(frozen=True, order=True)
class LockedJar:
    """One line of jars.lock: the set it belongs to, its coordinate, and what it must hash to."""

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
    """The jars of a set, each the one that jars.lock names; downloads them on first use."""
    wanted = [one for one in read_lock(LOCK_FILE) if one.set_name == name]
    home = cache_folder() / "jars" / f"{name}-{_fingerprint(wanted)}"
    if home not in _verified:
        if not _is_whole(wanted, home):  # absent, or damaged since
            with locked(name):
                if not _is_whole(wanted, home):  # another process may have fetched it while this one waited
                    progress(f"{name} jars: fetching {len(wanted)}")
                    with appearing(home) as scratch:
                        _fetch(wanted, scratch, progress)
        _verified.add(home)
    return [home / one.coordinate.file_name for one in wanted]


def _fetch(wanted: list[LockedJar], scratch: Path, progress: Callable[[str], None]) -> None:
    downloads = scratch / "downloads"

    def arrived(count: int) -> None:
        if count % 10 == 0 and count < len(wanted):
            progress(f"{wanted[0].set_name} jars: {count} of {len(wanted)}")

    fetched = ivy.retrieve([one.coordinate for one in wanted], downloads, quick=True, arrived=arrived)
    for one in wanted:
        if one.coordinate not in fetched:
            raise JarsUnavailableError(f"Ivy reported success but did not bring {one.coordinate}.")
        fetched[one.coordinate].rename(scratch / one.coordinate.file_name)
    shutil.rmtree(downloads)
    for jar, actual in _wrong(wanted, scratch):
        raise JarChecksumError(
            f"{jar.coordinate} hashes to {actual}, but jars.lock says {jar.sha256}.",
            "Nothing was kept. The download was damaged or is not the released jar: try again, from another mirror.",
        )


def _is_whole(wanted: Iterable[LockedJar], folder: Path) -> bool:
    return next(iter(_wrong(wanted, folder)), None) is None


def _wrong(wanted: Iterable[LockedJar], folder: Path) -> Iterator[tuple[LockedJar, str]]:
    for jar in wanted:
        actual = sha256_of(folder / jar.coordinate.file_name)
        if actual != jar.sha256:
            yield jar, actual


def sha256_of(file: Path) -> str:
    """The file's sha256 in hex; of a file that is not there, "nothing"."""
    try:
        with file.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError:
        return "nothing"


def _fingerprint(wanted: list[LockedJar]) -> str:
    return hashlib.sha256("\n".join(map(str, wanted)).encode()).hexdigest()[:12]
