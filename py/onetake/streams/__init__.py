"""Reading reply streams: bytes of a known protocol in, the same few events out. Pure, no I/O.

    adapter = open_adapter("onetake")           # one per turn, over any number of HTTP responses
    for chunk in response:
        for event in adapter.feed(chunk):       # Start, Delta, UnitEnd, Tool, Reset, Final, Stopped, Failed
            ...
    adapter.end_response()

Any chunking of the same bytes gives the same events, and no input raises: what cannot be read becomes
`Failed`. May be imported anywhere; imports nothing but the standard library and the core.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from onetake.errors import UsageError
from onetake.streams.events import Delta, Event, Failed, Final, Reset, Start, Stopped, Tool, UnitEnd
from onetake.streams.onetake import OnetakeAdapter

__all__ = [
    "Adapter",
    "Delta",
    "Event",
    "Failed",
    "Final",
    "Reset",
    "Start",
    "Stopped",
    "Tool",
    "UnitEnd",
    "open_adapter",
]


class Adapter(Protocol):
    """Reads one turn: one reply, which may come in several HTTP responses one after the other."""

    @property
    def ended(self) -> bool:
        """Whether the turn is over: `Final`, `Stopped` or `Failed` came, and no `Reset` after it."""

    @property
    def last_event_id(self) -> str | None:
        """What to send as `Last-Event-ID` to get the rest in another response; `None` where that cannot
        be."""

    def feed(self, data: bytes) -> list[Event]:
        """The events that these bytes complete."""

    def end_response(self) -> list[Event]:
        """The events that follow from the end of one HTTP response. The next `feed` begins another response.

        A protocol whose streams can be resumed yields nothing here, since a lost connection is not the end of
        a reply: if `ended` is false, open the stream again with `last_event_id`. Any other yields `Failed` if
        the turn was neither over nor waiting for a further request.
        """


_ADAPTERS: dict[str, Callable[[], Adapter]] = {"onetake": OnetakeAdapter}


def open_adapter(name: str) -> Adapter:
    """A fresh adapter for one turn in the protocol of that name; raises UsageError for an unknown one."""
    try:
        return _ADAPTERS[name]()
    except KeyError:
        raise UsageError(f"No protocol is called {name!r}: use one of {', '.join(_ADAPTERS)}.") from None
