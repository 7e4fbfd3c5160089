"""Reading reply streams: bytes of a known protocol in, the same few events out. Pure, no I/O.

    adapter = open_adapter("onetake")           # one per turn, over any number of HTTP responses
    for chunk in response:
        for event in adapter.feed(chunk):       # Delta, UnitEnd, Reset, Final, Failed; Start, Tool, Stopped
            ...
    adapter.end_response()                      # more events; then see `ended` and `awaiting`

Each protocol is a module; what all share is in `turn` (the rules of the text) and `json_adapter`. Any chunking
of the same bytes gives the same events, and no input raises: what cannot be read becomes `Failed`. May be
imported anywhere; imports nothing but the standard library and the core.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from onetake.errors import UsageError
from onetake.streams.ag_ui import AgUiAdapter
from onetake.streams.ai_sdk_ui import AiSdkUiAdapter
from onetake.streams.anthropic_messages import AnthropicMessagesAdapter
from onetake.streams.events import Delta, Event, Failed, Final, Reset, Start, Stopped, Tool, UnitEnd
from onetake.streams.gemini import GeminiAdapter
from onetake.streams.langgraph import LangGraphAdapter
from onetake.streams.ollama_chat import OllamaChatAdapter
from onetake.streams.onetake import OnetakeAdapter
from onetake.streams.open_webui import OpenWebUiAdapter
from onetake.streams.openai_chat import OpenAiChatAdapter
from onetake.streams.openai_responses import OpenAiResponsesAdapter

__all__ = [
    "PROTOCOLS",
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
    def awaiting(self) -> bool:
        """Whether the turn goes on in a further response, because the model wants something first, such as the
        result of a tool."""

    @property
    def last_event_id(self) -> str | None:
        """What to send as `Last-Event-ID` to get the rest in another response; `None` where that cannot
        be."""

    def feed(self, data: bytes) -> list[Event]:
        """The events that these bytes complete."""

    def end_response(self) -> list[Event]:
        """The events that follow from the end of one HTTP response. The next `feed` begins another response.

        Afterwards the turn is `ended`, or it is `awaiting` its next request, or else the stream can be resumed:
        a lost connection is not the end of a reply, so open the stream again, with `last_event_id` if there is
        one. Where it cannot be resumed, a loss is `Failed` with the code `connection_lost`.
        """


_ADAPTERS: dict[str, Callable[[], Adapter]] = {
    "onetake": OnetakeAdapter,
    "openai-chat": OpenAiChatAdapter,
    "openai-responses": OpenAiResponsesAdapter,
    "anthropic-messages": AnthropicMessagesAdapter,
    "ai-sdk-ui": AiSdkUiAdapter,
    "ag-ui": AgUiAdapter,
    "ollama-chat": OllamaChatAdapter,
    "gemini": GeminiAdapter,
    "langgraph": LangGraphAdapter,
    "open-webui": OpenWebUiAdapter,
}

PROTOCOLS = tuple(_ADAPTERS)
"""The names that `open_adapter` knows."""


def open_adapter(name: str) -> Adapter:
    """A fresh adapter for one turn in the protocol of that name; raises UsageError for an unknown one."""
    try:
        return _ADAPTERS[name]()
    except KeyError:
        raise UsageError(f"No protocol is called {name!r}: use one of {', '.join(PROTOCOLS)}.") from None
