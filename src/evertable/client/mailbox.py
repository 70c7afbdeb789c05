"""Hands the newest page from the thread that receives pages to the thread that reads them."""

from __future__ import annotations

import threading

from evertable.client.errors import ClientClosedError
from evertable.protocol.page import Page


class Mailbox:
    """Holds one page; a newer page replaces one that was not taken yet."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._page: Page | None = None
        self._error: BaseException | None = None
        self._is_closed = False

    def put(self, page: Page) -> None:
        with self._changed:
            self._page = page
            self._changed.notify_all()

    def close(self, error: BaseException | None = None) -> None:
        """Ends all waits, with the error if there is one. Only the first close counts."""
        with self._changed:
            if not self._is_closed:
                self._is_closed, self._error = True, error
            self._changed.notify_all()

    def discard(self) -> None:
        """Closes, and drops a page or an error that was not taken."""
        with self._changed:
            self._is_closed, self._page, self._error = True, None, None
            self._changed.notify_all()

    def take(self, timeout_s: float | None = None) -> Page | None:
        """Waits for the newest page; None after the timeout.

        Once closed, raises the error that closed it, the first time, and then ClientClosedError.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._page is not None or self._is_closed, timeout_s)
            if (page := self._page) is not None:
                self._page = None
                return page
            if (error := self._error) is not None:
                self._error = None
                raise error
            if self._is_closed:
                raise ClientClosedError("The watch is closed.")
            return None
