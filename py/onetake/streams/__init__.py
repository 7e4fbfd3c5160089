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

from importlib import import_module
from typing import Protocol

from onetake.errors import UsageError
from onetake.streams.events import Delta, Event, Failed, Final, Reset, Start, Stopped, Tool, UnitEnd

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


# The module of each and its class in it. They are imported when they are opened: a page that wakes has no time for more
# than the one it reads.
_ADAPTERS = {
    "onetake": ("onetake", "OnetakeAdapter"),
    "openai-chat": ("openai_chat", "OpenAiChatAdapter"),
    "openai-responses": ("openai_responses", "OpenAiResponsesAdapter"),
    "anthropic-messages": ("anthropic_messages", "AnthropicMessagesAdapter"),
    "ai-sdk-ui": ("ai_sdk_ui", "AiSdkUiAdapter"),
    "ag-ui": ("ag_ui", "AgUiAdapter"),
    "ollama-chat": ("ollama_chat", "OllamaChatAdapter"),
    "gemini": ("gemini", "GeminiAdapter"),
    "langgraph": ("langgraph", "LangGraphAdapter"),
    "open-webui": ("open_webui", "OpenWebUiAdapter"),
}

PROTOCOLS = tuple(_ADAPTERS)
"""The names that `open_adapter` knows."""


def open_adapter(name: str) -> Adapter:
    """A fresh adapter for one turn in the protocol of that name; raises UsageError for an unknown one."""
    try:
        module, adapter = _ADAPTERS[name]
    except KeyError:
        raise UsageError(f"No protocol is called {name!r}: use one of {', '.join(PROTOCOLS)}.") from None
    opened: Adapter = getattr(import_module(f"onetake.streams.{module}"), adapter)()
    return opened
