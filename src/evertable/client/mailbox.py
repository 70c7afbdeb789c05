"""Hands pages from the thread that receives them to the one that wants them: the newest, never a queue."""

from __future__ import annotations

import threading

from evertable.client.errors import ClientClosedError
from evertable.protocol.page import Page


class Mailbox:
    """Room for one page. A newer one takes the place of one that nobody has taken yet."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._page: Page | None = None
        self._error: BaseException | None = None
        self._closed = False

    def put(self, page: Page) -> None:
        with self._changed:
            self._page = page
            self._changed.notify_all()

    def close(self, error: BaseException | None = None) -> None:
        """Nothing more will come; who waits is told, with the error if there is one. Only the first close counts."""
        with self._changed:
            if not self._closed:
                self._closed, self._error = True, error
            self._changed.notify_all()

    def discard(self) -> None:
        """Closes, and forgets what nobody has taken."""
        with self._changed:
            self._closed, self._page, self._error = True, None, None
            self._changed.notify_all()

    def take(self, timeout_s: float | None = None) -> Page | None:
        """The newest page as soon as there is one; None if none comes in time.

        Raises ClientClosedError after the end; before that, once, the error that was the end.
        """
        with self._changed:
            self._changed.wait_for(lambda: self._page is not None or self._closed, timeout_s)
            if (page := self._page) is not None:
                self._page = None
                return page
            if (error := self._error) is not None:
                self._error = None
                raise error
            if self._closed:
                raise ClientClosedError("The watch has ended.")
            return None
