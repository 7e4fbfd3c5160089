"""One unit, one request: asks the server for a take and hands over its audio as it arrives.

    await synthesise("/speech", text, voice="local", take=take, controller_js=controller_js,
                     context_js=context_js, report=report)
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from onetake.browser.ffi import js_object, web, window
from onetake.browser.take import Take
from onetake.cues import AlignmentReceived, AudioReceived, Event, SynthesisDone, SynthesisFailed, SynthesisStarted


class SpeechError(Exception):
    """The speech server, or the way to it, failed. `code` is stable, the message is for people."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


async def synthesise(
    url: str,
    text: str,
    *,
    voice: str | None,
    take: Take,
    controller_js: Any,
    context_js: Any,
    report: Callable[[Event], object],
) -> None:
    """Request one take of `text` and fill `take` until its end marker.

    Reports SynthesisStarted, AudioReceived, AlignmentReceived and at last SynthesisDone or SynthesisFailed,
    each under `take.token`. An abort by `controller_js` ends it without a report: whoever aborts knows.
    """
    from pyodide.ffi import JsException

    token = take.token
    try:
        response_js = await _request(url, text, voice, controller_js)
        report(SynthesisStarted(token))
        await _receive(response_js, take, controller_js, context_js, report)
    except (SpeechError, JsException) as error:
        take.end()
        if controller_js.signal.aborted:
            return
        if not isinstance(error, SpeechError):
            error = SpeechError("speech_unreachable", f"the connection to the speech server was lost ({error})")
        report(SynthesisFailed(token, error.code, error.message))
    else:
        take.end()
        report(SynthesisDone(token, take.received_s))


async def _request(url: str, text: str, voice: str | None, controller_js: Any) -> Any:
    body = {"text": text} if voice is None else {"text": text, "voice": voice}
    options_js = js_object(
        {
            "method": "POST",
            "headers": {"content-type": "application/json"},
            "body": json.dumps(body),
            "signal": controller_js.signal,
        }
    )
    response_js = await window().fetch(url, options_js)
    if not response_js.ok:
        raise _refusal(str(await response_js.text()), int(response_js.status))
    if not response_js.body:
        raise SpeechError("no_audio", "the speech server answered without a body")
    return response_js


def _refusal(body: str, status: int) -> SpeechError:
    """The server's own words where it gives them (design 6), otherwise the status."""
    try:
        error = json.loads(body)["error"]
        return SpeechError(str(error["code"]), str(error["message"]))
    except (ValueError, KeyError, TypeError):
        return SpeechError(f"http_{status}", f"the speech server answered with status {status}")


async def _receive(
    response_js: Any, take: Take, controller_js: Any, context_js: Any, report: Callable[[Event], object]
) -> None:
    reader_js = response_js.body.getReader()
    lines_js = web().TakeReader.new()
    while True:
        chunk_js = await reader_js.read()
        controller_js.signal.throwIfAborted()  # the read may have been done when the abort came
        records_js = lines_js.feed(None if chunk_js.done else chunk_js.value)
        for record_js in records_js:
            if hasattr(record_js, "channels"):
                if record_js.channels[0].length:
                    take.append(web().audioBuffer(context_js, record_js.channels, record_js.rate))
                    report(AudioReceived(take.token, take.received_s))
            elif _ends_take(str(record_js.json), take, report):
                return
        if chunk_js.done:
            raise SpeechError("take_cut_short", "the speech server closed the connection before the take ended")


def _ends_take(line: str, take: Take, report: Callable[[Event], object]) -> bool:
    """Read a line that is not audio; True at the end marker."""
    try:
        record = json.loads(line)
    except ValueError:
        record = None
    match record:
        case {"end": True}:
            return True
        case {"error": {"code": str(code), "message": str(message)}}:
            raise SpeechError(code, message)
        case {"alignment": {"chars": list(chars), "starts": list(starts), "ends": list(ends)}}:
            report(AlignmentReceived(take.token, chars, starts, ends))
        case {"alignment": None}:
            pass
        case _:
            raise SpeechError("not_a_take", f"the speech server sent a line that is no part of a take: {line[:80]!r}")
    return False
