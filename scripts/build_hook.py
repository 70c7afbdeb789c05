"""Rejects a wheel or sdist without the current join operator and web page."""

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class RequireArtifacts(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 - hatchling's signature
        if version == "editable":  # made before the operator is compiled and the page built
            return
        root = Path(self.root)
        sys.path.insert(0, str(root / "src"))
        from evertable.install.operator import JAR, SOURCES, made_from

        if not made_from(JAR, SOURCES):
            sys.exit(f"{JAR.relative_to(root)} is missing or not of this jvm/src: run scripts/setup, then build again.")
        if (root / "web").is_dir():  # also in an sdist
            sys.path.insert(0, str(root / "scripts"))
            import web

            if not web.is_built():
                sys.exit("The web page is missing or not of this web/: run scripts/setup, then build again.")
