"""Lets a wheel be built only with the current join operator inside it."""

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class WheelHook(BuildHookInterface):  # type: ignore[type-arg, unused-ignore]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version == "editable":  # made before the operator is compiled, which happens on first use
            return
        root = Path(self.root)
        sys.path.insert(0, str(root / "src"))
        from evertable.runtime.operator import JAR, SOURCES, made_from

        if not made_from(JAR, SOURCES):
            sys.exit(f"{JAR.relative_to(root)} is missing or older than jvm/src: run scripts/setup, then build again.")
