"""A fetch Response as the events of a reply, whichever protocol its body speaks.

    response_js = await window().fetch("/api/chat", options_js)
    async for event in read(response_js, "ai-sdk-ui"):
        ...                                              # onetake.streams.Delta, UnitEnd, Reset, Final, Failed
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any

from onetake.streams import Adapter, Event, Failed, open_adapter
from onetake.streams.json_text import parse


async def read(response_js: Any, protocol: str | Adapter) -> AsyncGenerator[Event, None]:
    """The events of one response, each when its bytes are there, to the end of the body.

    `protocol` is a name that `onetake.streams.open_adapter` knows or, for a turn that takes several responses
    (tools run by the client, a stream opened again), the turn's adapter. A response with an error status is
    one `Failed`. A body that breaks off is what the adapter's `end_response` makes of it. Who stops early
    closes the iterator (`contextlib.aclosing`), which ends the connection.
    """
    from pyodide.ffi import JsException

    adapter = open_adapter(protocol) if isinstance(protocol, str) else protocol
    if not response_js.ok:
        yield refusal(str(await response_js.text()), int(response_js.status))
        return
    reader_js = response_js.body.getReader() if response_js.body else None  # 204 has none
    try:
        with suppress(JsException):  # lost, or aborted: then there is no more
            while reader_js and not (chunk_js := await reader_js.read()).done:
                for event in adapter.feed(chunk_js.value.to_bytes()):
                    yield event
    except BaseException:
        if reader_js:
            with suppress(JsException):
                await reader_js.cancel()
        raise
    for event in adapter.end_response():
        yield event


def refusal(body: str, status: int) -> Failed:
    """What a response with an error status says: in its own words, if they are where servers put them."""
    try:
        answer = parse(body)
    except ValueError:
        answer = None
    match answer:
        case {"error": {"message": str(message), **error}} | {"detail": {"message": str(message), **error}}:
            return Failed(str(error.get("code") or error.get("type") or f"http_{status}"), message)
        case {"error": str(message)} | {"detail": str(message)} | {"message": str(message)}:
            return Failed(f"http_{status}", message)
        case _:
            return Failed(f"http_{status}", f"the server answered with status {status}")
