"""A timed stream as ElevenLabs sends it: JSON objects, one a line, with sound and the times of its characters.

    {"audio_base64": "…", "alignment": {"characters": ["H", "i"], "character_start_times_seconds": [0, 0.1],
                                        "character_end_times_seconds": [0.1, 0.2]}, "normalized_alignment": …}

`alignment` counts the characters of the text that was sent, `normalized_alignment` those of what the vendor made
of it, so the former is used. Its times are passed on as they are, whether they make sense or not: whoever maps
them to what was heard has to distrust every engine's. Used by `onetake.server.speech.elevenlabs`.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

from onetake.server.speech.engine import Alignment, Audio
from onetake.server.speech.refusals import complaint
from onetake.server.speech.upstream import Answer, Upstream

NEAR_ZERO_S = 0.1


async def timed(upstream: Upstream, answer: Answer, rate: int) -> AsyncGenerator[Audio | Alignment, None]:
    """The take in `answer`: s16le mono at `rate`, and its alignment from the start of the take on.

    Raises `EngineError`: `bad_audio` for what is no such stream, or as the error says that comes instead.
    """
    held = b""  # half a sample
    sent_s = latest_s = 0.0
    async for line in _lines(answer.chunks):
        record = _record(upstream, answer, line)
        if (alignment := _alignment(record.get("alignment"))) is not None:
            first_s = alignment.starts[0]
            if first_s < NEAR_ZERO_S and first_s < latest_s:  # counted from this piece on, not from the take
                alignment = _later(alignment, sent_s)
            latest_s = alignment.starts[-1]
            yield alignment
        held += _sound(upstream, record)
        if whole := len(held) // 2 * 2:
            audio = Audio(held[:whole], rate)
            held = held[whole:]
            sent_s += audio.seconds
            yield audio
    if not sent_s:
        raise upstream.bad_audio("no audio at all")


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncGenerator[bytes, None]:
    """Lines that are not blank. Only a line feed ends one: JSON may hold other separators as they are."""
    rest = b""
    async for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line.strip():
                yield line
    if rest.strip():
        yield rest


def _record(upstream: Upstream, answer: Answer, line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError:
        record = None
    if isinstance(record, dict) and ("audio_base64" in record or "alignment" in record):
        return record
    if record is not None and any(complaint(line)):
        raise upstream.refused(200, answer.headers, line)
    raise upstream.bad_audio(f"a line that is no part of a take ({line[:40].decode(errors='replace')})")


def _sound(upstream: Upstream, record: dict[str, Any]) -> bytes:
    try:
        return base64.b64decode(record.get("audio_base64") or "", validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise upstream.bad_audio("sound that is not base64") from None


def _alignment(times: Any) -> Alignment | None:
    """The alignment of a piece; None where there is none, or none that can be read."""
    match times:
        case {
            "characters": list(chars),
            "character_start_times_seconds": list(starts),
            "character_end_times_seconds": list(ends),
        } if chars and len(chars) == len(starts) == len(ends):
            numbers = all(isinstance(each, int | float) for each in (*starts, *ends))
            return Alignment(chars, starts, ends) if numbers and all(isinstance(each, str) for each in chars) else None
    return None


def _later(alignment: Alignment, by_s: float) -> Alignment:
    return Alignment(
        alignment.chars,
        [start_s + by_s for start_s in alignment.starts],
        [end_s + by_s for end_s in alignment.ends],
    )


