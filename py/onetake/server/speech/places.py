"""Places at an engine: as many takes at once as it serves, over all listeners, the others in the order they came.

    places = Places(lambda: engine.voices[0].concurrency)
    async with places:      # waits for a turn
        ...

May be imported by `onetake.server.speech.routes`.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable


class Places:
    """A queue in front of `capacity()` places, which may change while takes run. One that leaves is dropped."""

    def __init__(self, capacity: Callable[[], int]) -> None:
        self._capacity = capacity
        self._taken = 0
        self._queue: deque[asyncio.Future[None]] = deque()

    async def __aenter__(self) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._queue.append(turn)
        self._call()
        try:
            if turn.done():
                await asyncio.sleep(0)  # behind those whose turn came by the same call
            else:
                await turn
        except asyncio.CancelledError:
            if not turn.cancelled():  # its turn had come just then
                await self.__aexit__()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._taken -= 1
        self._call()

    def _call(self) -> None:
        """Give free places to those who wait."""
        while self._queue and self._taken < self._capacity():
            turn = self._queue.popleft()
            if not turn.cancelled():  # it left
                self._taken += 1
                turn.set_result(None)
