"""The folder for downloads, in which other folders are created atomically."""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evertable.errors import SetupError


def cache_folder() -> Path:
    """Returns $EVERTABLE_CACHE, else $XDG_CACHE_HOME/evertable, else ~/.cache/evertable."""
    own = os.environ.get("EVERTABLE_CACHE")
    if own:
        return Path(own).expanduser().absolute()
    shared = os.environ.get("XDG_CACHE_HOME")
    return (Path(shared).absolute() if shared else Path.home() / ".cache") / "evertable"


@contextmanager
def locked(name: str) -> Iterator[Path]:
    """Locks the cache for one kind of work, so that concurrent installations do it one after the other."""
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / f".{name}.lock").open("w")
    except OSError as error:
        raise _unwritable(folder, error) from error
    with lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # released when the file is closed, or the process dies
        yield folder


@contextmanager
def created_atomically(final: Path) -> Iterator[Path]:
    """Yields a scratch folder that becomes ``final`` if the block succeeds, and is removed if it fails."""
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{final.name}-", dir=final.parent))
    except OSError as error:
        raise _unwritable(final.parent, error) from error
    try:
        yield scratch
        shutil.rmtree(final, ignore_errors=True)
        scratch.chmod(0o755)  # mkdtemp creates it private; a cache may be shared
        scratch.rename(final)
    except OSError as error:  # such as a full disk
        raise _unwritable(final.parent, error) from error
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _unwritable(folder: Path, error: OSError) -> SetupError:
    return SetupError(f"The cache folder {folder} cannot be written: {error}.", "Set EVERTABLE_CACHE to another one.")
