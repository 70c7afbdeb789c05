"""A separate disk for the checkpoints, small enough to be filled: a tmpfs, which only root may mount."""

from __future__ import annotations

import errno
import subprocess
from pathlib import Path
from typing import Self

SIZE_MB = 64
PIECE = bytes(1 << 16)


class SmallDisk:
    """Mounts a small disk at a folder for the block; ``mounted`` is false if that was not wanted or not allowed."""

    def __init__(self, folder: Path, *, wanted: bool = True) -> None:
        self.mounted = False
        self.folder = folder
        self._wanted = wanted
        self._filler = folder / "filler"

    def fill(self) -> None:
        """Writes until the disk is full, so that the next write of anybody fails with ENOSPC."""
        try:
            with self._filler.open("ab", buffering=0) as file:
                while True:
                    file.write(PIECE)
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise

    def free(self) -> None:
        self._filler.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE_MB}m", "evertable-chaos", str(self.folder)]
        self.mounted = self._wanted and subprocess.run(command, capture_output=True, check=False).returncode == 0
        return self

    def __exit__(self, *_: object) -> None:
        if self.mounted:
            subprocess.run(["umount", "--lazy", str(self.folder)], check=True)
            self.mounted = False
