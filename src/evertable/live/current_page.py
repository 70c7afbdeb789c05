"""The page that a view shows, and the frames that bring each subscription from what it was sent to this page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from evertable.protocol.answers import Stamp, total_tail
from evertable.protocol.page import PageRows, page_tail
from evertable.protocol.patch import diff, patch_tail
from evertable.schema.columns import Column
from evertable.views.view import View

if TYPE_CHECKING:
    from evertable.live.live_view import LiveView

BEGINNING = Stamp(0, 0)


class Update(Enum):
    """What changed for the subscribers of a view."""

    NONE = 0
    TOTAL = 1
    PAGE = 2


@dataclass(frozen=True)
class FrameTail:
    """A frame without its prefix."""

    kind: str
    data: bytes
    stamp: Stamp
    total: int


@dataclass(eq=False)
class Subscription:
    """One subscriber of a view: how to notify it, and what it has been sent."""

    id: str
    tag: int
    on_update: Callable[[Subscription], None]
    view: LiveView = field(init=False)
    """The view that the hub has attached it to."""
    min_stamp: Stamp = BEGINNING
    """The stamp of the page that it was sent by another view: no earlier page may follow."""
    page_number: int = 0
    """The number of the last page that was sent."""
    sent_total: int = -1
    notified_s: float | None = None
    """When it was notified of an update that it has not taken yet."""
    client: str | None = None
    """Its address."""
    replaced_views: tuple[tuple[int, View], ...] = ()
    """Tag and view of those that it replaced before they had a page: what to return to if this view fails."""

    def notify(self, now: float) -> None:
        if self.notified_s is None:
            self.notified_s = now
        self.on_update(self)


@dataclass(eq=False)
class CurrentPage:
    """A view's page. Its frames are encoded once for all subscriptions that need the same one."""

    table: str
    offset: int
    stamp: Stamp = BEGINNING
    total: int = 0
    rows: PageRows | None = None
    """None before the first page, and after a reset."""
    _columns: Sequence[Column] = ()
    _missing: tuple[str, ...] = ()
    _number: int = 0
    _previous_rows: PageRows | None = None
    _whole: FrameTail | None = None
    _patch: FrameTail | None = None

    def move(self, stamp: Stamp, total: int) -> Update:
        """Follows a table whose changes do not show on the page; returns what that changes for subscribers."""
        self.stamp = stamp
        if total == self.total:
            return Update.NONE
        self.total = total
        return Update.TOTAL

    def show(
        self, stamp: Stamp, total: int, rows: PageRows, columns: Sequence[Column], missing: tuple[str, ...], swap: bool
    ) -> Update:
        """Shows these rows from now on; after a swap, no patch leads to them. Returns what changes for subscribers."""
        update, before = self.move(stamp, total), self.rows
        if before and not swap and (rows is before or (rows.keys == before.keys and rows.json == before.json)):
            return update  # the columns that were written are not in this view
        self.rows, self._previous_rows = rows, None if swap else before
        self._columns, self._missing = columns, missing
        self._number += 1
        self._whole = self._patch = None
        return Update.PAGE

    def reset(self) -> None:
        """Releases the rows and frames; stamps never go back."""
        self.rows = self._previous_rows = self._whole = self._patch = None

    def has_update_for(self, subscription: Subscription) -> bool:
        """Whether the subscription has not been sent the current page, and may be."""
        if self.rows is None or self.stamp < subscription.min_stamp:
            return False
        return (subscription.page_number, subscription.sent_total) != (self._number, self.total)

    def frame_for(self, subscription: Subscription) -> FrameTail | None:
        """Returns what the subscription has not been sent of the page, if anything; it counts as sent."""
        if self.rows is None or not self.has_update_for(subscription):
            return None
        if subscription.page_number == self._number:
            tail = FrameTail("total", total_tail(self.stamp, self.total), self.stamp, self.total)
        elif subscription.page_number == self._number - 1 and self._previous_rows:
            tail = self._shorter_tail(self._previous_rows, self.rows)
        else:
            tail = self._whole_tail(self.rows)
        subscription.page_number, subscription.sent_total = self._number, tail.total
        return tail

    def _whole_tail(self, rows: PageRows) -> FrameTail:
        """Returns the page, encoded again for a later stamp: a receiver may have seen that one in another view."""
        if self._whole is None or (self._whole.stamp, self._whole.total) != (self.stamp, self.total):
            data = page_tail(self.table, self.stamp, self.total, self.offset, self._columns, rows.json, self._missing)
            self._whole = FrameTail("page", data, self.stamp, self.total)
        return self._whole

    def _shorter_tail(self, before: PageRows, rows: PageRows) -> FrameTail:
        """Returns the patch from the page before, or the page, whichever is shorter."""
        if self._patch is None or self._patch.total != self.total:  # a slow viewer must not get an old total
            data = patch_tail(self.stamp, self.total, self.offset, diff(before, rows))
            self._patch = FrameTail("patch", data, self.stamp, self.total)
            if len(data) >= sum(map(len, rows.json)):
                self._patch = min(self._patch, self._whole_tail(rows), key=lambda tail: len(tail.data))
        return self._patch
