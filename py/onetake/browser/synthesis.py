"""One unit, one request: asks the server for a take and hands over its audio as it arrives.

    order = Order("/speech", "Hello there.", voice="local")
    await synthesise(order, take, context_js, scope.child(), report, on_link, longest_s=90)

A request that nothing came back for, because the way to the server is broken, is made again: no byte of the take
was lost. One that breaks off later is not, as a take is one performance.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from math import nan
from typing import Any

from onetake.browser.ffi import js_object, now_ms, web, window
from onetake.browser.link import GIVE_UP_S, Link, seek
from onetake.browser.reading import refusal
from onetake.browser.scope import Scope
from onetake.browser.take import Take
from onetake.cues import AlignmentReceived, AudioReceived, Event, SynthesisDone, SynthesisFailed, SynthesisStarted

#: A server that sends nothing for so long has forgotten us. Engines may think for some seconds before a long take.
SILENT_S = 30.0


@dataclass(frozen=True, slots=True)
class Order:
    """What is asked for: one take of `text`. Without a voice, the server's preferred one speaks.

    `token` is what a server wants of pages that are not its own.
    """

    url: str
    text: str
    voice: str | None = None
    speed: float = 1.0
    token: str | None = None

    def headers(self) -> dict[str, str]:
        """Those of the request."""
        said = {} if self.token is None else {"authorization": f"Bearer {self.token}"}
        return {"content-type": "application/json", **said}

    def body(self) -> str:
        """JSON as `POST /speech` takes it (design 6)."""
        wanted = {"text": self.text, "voice": self.voice, "speed": None if self.speed == 1 else self.speed}
        return json.dumps({name: value for name, value in wanted.items() if value is not None})


class SpeechError(Exception):
    """The speech server, or the way to it, failed. `code` is stable, the message is for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


async def synthesise(
    order: Order,
    take: Take,
    context_js: Any,
    scope: Scope,
    report: Callable[[Event], object],
    on_link: Callable[[Link], object],
    *,
    longest_s: float,
) -> None:
    """Request one take and fill `take` until its end marker; then wait for the server to close.

    `on_link` is told when the server is being sought and when that is over (`onetake.browser.link`).

    Reports SynthesisStarted, AudioReceived, AlignmentReceived and at last SynthesisDone or SynthesisFailed,
    each under `take.token`. When `scope` ends, so does the request, without a report: whoever ends it knows.
    A take that goes on for more than `longest_s` is cut off there, as an engine's that has lost its thread.
    """
    from pyodide.ffi import JsException

    request = _Request(order, take, context_js, scope, report, on_link, longest_s)
    try:
        await request.receive()
    except (SpeechError, JsException) as error:
        take.end()
        if scope.disposed:
            return
        match error:
            case SpeechError(code=code, message=message):
                pass
            case _ if request.silent:
                code, message = "speech_timeout", f"the speech server sent nothing for {SILENT_S:g} seconds"
            case _:
                code, message = "speech_unreachable", f"the connection to the speech server was lost ({error})"
        report(SynthesisFailed(take.token, code, message))
    else:
        take.end()
        report(SynthesisDone(take.token, take.received_s))
        await request.finish()


class _Request:
    """The connection of one synthesis. What comes of it after `scope` has ended is dropped."""

    def __init__(
        self,
        order: Order,
        take: Take,
        context_js: Any,
        scope: Scope,
        report: Callable[[Event], object],
        on_link: Callable[[Link], object],
        longest_s: float,
    ) -> None:
        self._order = order
        self._take = take
        self._context_js = context_js
        self._scope = scope
        self._report = report
        self._on_link = on_link
        self._longest_s = longest_s
        self._abort_js = scope.abort_controller()
        self._reader_js: Any = None
        self._moved_ms = now_ms()
        #: The server has sent nothing for SILENT_S, so the connection was closed.
        self.silent = False
        scope.every(SILENT_S * 100, self._watch)

    async def receive(self) -> None:
        """Read up to the end marker. Raises SpeechError or JsException, the latter also after an abort."""
        response_js = await self._respond()
        self._report(SynthesisStarted(self._take.token))
        if not response_js.body:
            raise SpeechError("no_audio", "the speech server answered without a body")
        self._reader_js = response_js.body.getReader()
        records_js = web().TakeReader.new(response_js.headers.get("content-type") or "", self._context_js.sampleRate)
        while True:
            chunk_js = await self._read()
            for record_js in records_js.feed(None if chunk_js.done else chunk_js.value):
                if hasattr(record_js, "channels"):
                    self._receive(web().audioBuffer(self._context_js, record_js.channels))
                elif hasattr(record_js, "encoded"):
                    self._receive(await self._decode(record_js.encoded))
                elif self._ends(str(record_js.json)):
                    return

    async def finish(self) -> None:
        """Read past the end marker, so that the connection can serve the next request."""
        from pyodide.ffi import JsException

        with suppress(JsException):
            while not (await self._read()).done:
                pass

    async def _respond(self) -> Any:
        response_js = await seek(self._ask, self._scope, self._on_link)
        if response_js is None:
            message = f"the speech server has not answered for {GIVE_UP_S:g} seconds"
            raise SpeechError("speech_unreachable", message)
        if not response_js.ok:
            failed = refusal(str(await response_js.text()), response_js.status)
            raise SpeechError(failed.code, failed.message)
        return response_js

    async def _ask(self) -> Any:
        """The answer; None if the connection could not be made, or broke before one came."""
        from pyodide.ffi import JsException

        self._check_current()
        options_js = js_object(
            {
                "method": "POST",
                "headers": self._order.headers(),
                "body": self._order.body(),
                "signal": self._abort_js.signal,
            }
        )
        try:
            response_js = await window().fetch(self._order.url, options_js)
        except JsException:
            response_js = None
        self._check_current()
        return response_js

    async def _read(self) -> Any:
        chunk_js = await self._reader_js.read()
        self._check_current()
        return chunk_js

    async def _decode(self, encoded_js: Any) -> Any:
        """The AudioBuffer of a whole file; the browser brings it to the context's rate."""
        from pyodide.ffi import JsException

        try:
            block_js = await self._context_js.decodeAudioData(encoded_js)  # `encoded_js` is empty from here on
        except JsException:
            raise SpeechError("audio_undecodable", "the speech server sent audio this browser cannot decode") from None
        self._check_current()
        return block_js

    def _check_current(self) -> None:
        """What was awaited may have come when the abort did."""
        self._abort_js.signal.throwIfAborted()
        self._moved_ms = now_ms()

    def _watch(self) -> None:
        if now_ms() - self._moved_ms > SILENT_S * 1000:
            self.silent = True
            self._abort_js.abort()

    def _receive(self, block_js: Any) -> None:
        take = self._take
        if not block_js.length:
            return
        take.append(block_js)
        self._report(AudioReceived(take.token, take.received_s))
        if take.received_s > self._longest_s:
            self._abort_js.abort()
            raise SpeechError("take_too_long", f"the voice went on for more than {take.received_s:.0f} seconds")

    def _ends(self, line: str) -> bool:
        """Read a line that is not audio; True at the end marker."""
        try:
            record = json.loads(line)
        except ValueError:
            record = None
        match record:
            case {"end": True}:
                return True
            case {"cut": True}:
                raise SpeechError("take_cut_short", "the speech server closed the connection before the take ended")
            case {"error": _} | {"detail": _}:
                failed = refusal(line, 200)
                raise SpeechError(failed.code, failed.message)
            case {"alignment": {"chars": list(chars), "starts": list(starts), "ends": list(ends)}}:
                times = AlignmentReceived(self._take.token, [*map(str, chars)], _seconds(starts), _seconds(ends))
                self._report(times)
            case {"alignment": None}:
                pass
            case _:
                raise SpeechError("not_a_take", f"the speech server sent what is no part of a take: {line[:80]!r}")
        return False


def _seconds(times: list[Any]) -> list[float]:
    """An engine that does not know a time may send null."""
    return [time if isinstance(time, int | float) else nan for time in times]
