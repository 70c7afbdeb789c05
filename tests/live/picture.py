"""A client's copy of one subscription, checked against the protocol."""

from __future__ import annotations

from collections import Counter
from typing import Any

Frame = dict[str, Any]


class Picture:
    """A client's copy of one subscription; applies pages and patches as in docs/PROTOCOL.md."""

    def __init__(self) -> None:
        self.page: Frame = {}
        self.kinds: Counter[str] = Counter()

    def apply(self, frame: Frame) -> None:
        self.kinds[frame["type"]] += 1
        if frame["type"] == "page":
            self._check_order(frame)
            self.page = frame
        elif frame["type"] in ("patch", "total"):
            self._check_order(frame)
            assert frame["generation"] == self.page["generation"]
            assert frame["publication"] == self.page["publication"]
            rows = [list(row) for row in self.page["rows"]]
            for at, remove, put in frame.pop("splice", ()):
                assert 0 <= at <= at + remove <= len(rows)
                rows[at : at + remove] = put
            for row, column, value in frame.pop("cells", ()):
                rows[row][column] = value
            self.page = {**self.page, **frame, "rows": rows}

    def _check_order(self, frame: Frame) -> None:
        if self.page and frame["tag"] >= self.page["tag"]:
            assert (frame["publication"], frame["version"]) >= (self.page["publication"], self.page["version"])

    @property
    def rows(self) -> list[list[Any]]:
        rows: list[list[Any]] = self.page.get("rows", [])
        return rows

    @property
    def total(self) -> int:
        return int(self.page.get("total", -1))
