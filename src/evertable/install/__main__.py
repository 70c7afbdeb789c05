"""``python -m evertable.install``, which scripts/setup runs once the virtual environment exists."""

from __future__ import annotations

import sys

from evertable.errors import EvertableError
from evertable.install import prepare


def main() -> int:
    try:
        prepare(lambda line: print(f"  {line}", flush=True))  # noqa: T201 - this is a command
    except EvertableError as error:
        print(error, file=sys.stderr)  # noqa: T201 - this is a command
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
