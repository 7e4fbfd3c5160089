"""Tells somebody of a value that changes, but not more often than they can use."""

from __future__ import annotations

from collections.abc import Callable

from onetake.browser.ffi import now_ms
from onetake.browser.scope import Scope


class News:
    """Calls `on_news` with a number when it has changed, at most every `interval_ms`. The last one always arrives."""

    def __init__(self, scope: Scope, interval_ms: float, on_news: Callable[[int], object]) -> None:
        self._scope = scope
        self._interval_ms = interval_ms
        self._on_news = on_news
        self._newest = self._told = 0
        self._told_ms = -interval_ms
        self._waiting = False

    def tell(self, value: int) -> None:
        """The value is now this."""
        self._newest = value
        if self._waiting or value == self._told:
            return
        wait_ms = self._told_ms + self._interval_ms - now_ms()
        if wait_ms <= 0:
            self._told, self._told_ms = value, now_ms()
            self._on_news(value)
            self._told_ms = now_ms()  # whoever is told may have taken a while
        else:
            self._waiting = True
            self._scope.after(wait_ms / 1000, self._tell_late)

    def _tell_late(self) -> None:
        self._waiting = False
        self.tell(self._newest)
