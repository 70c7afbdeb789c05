"""Folders on this machine that no setting names."""

from __future__ import annotations

import os
from pathlib import Path


def state_dir() -> Path:
    """Where checkpoints and logs are kept, unless the configuration names a folder."""
    root = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(root) / "evertable"
