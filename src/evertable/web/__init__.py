"""The web page as it was built from ``web/`` (``scripts/web.py build``): a release carries it, git ignores it."""

from pathlib import Path

FILES = Path(__file__).parent / "files"
INDEX = "index.html"


def is_built() -> bool:
    return (FILES / INDEX).is_file()
