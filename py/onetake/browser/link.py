"""Seeking a server that does not answer: asked again and again for a while, and what the listener is told meanwhile.

    response_js = await seek(ask, scope, on_link)      # None: it has not answered for GIVE_UP_S

`ask` makes one attempt and returns the answer, or None if nothing came back: neither a byte nor a refusal.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from typing import Any, Literal

from onetake.browser.ffi import now_ms
from onetake.browser.scope import Scope

Link = Literal["live", "reconnecting"]

FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 8.0
"""Between two attempts. Each pause is twice the one before, less a random part, so that listeners come back apart."""

GIVE_UP_S = 30.0

SAY_S = 0.7
"""A drop that is over sooner is not worth a word."""


async def seek(
    ask: Callable[[], Awaitable[Any]], scope: Scope, on_link: Callable[[Link], object], *, dropped: bool = False
) -> Any:
    """The first answer; None if there is none for GIVE_UP_S. With `dropped` the first attempt waits a little, too.

    `on_link` hears `reconnecting` if it takes long, and then `live` as soon as this is over or `scope` ends.
    """
    seeking = scope.child()

    def say() -> None:
        on_link("reconnecting")
        seeking.own(lambda: on_link("live"), "word")

    seeking.after(SAY_S, say)
    began_ms = now_ms()
    attempt = 0
    try:
        if dropped:
            await _pause(attempt)
        while (answer := await ask()) is None and now_ms() - began_ms < GIVE_UP_S * 1000:
            attempt += 1
            await _pause(attempt)
        return answer
    finally:
        seeking.dispose()


async def _pause(attempt: int) -> None:
    await asyncio.sleep(min(FIRST_PAUSE_S * 2.0**attempt, LONGEST_PAUSE_S) * random.uniform(0.5, 1.0))
