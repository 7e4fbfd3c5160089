"""What may be asked of a voice: an order is checked before anything is sent anywhere.

    voice = checked(Order(text="Hello there."), voices)     # ApiError: unknown voice, nothing to say, too long

May be imported by anything in `onetake.server`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, BaseModel

from onetake.server.errors import ApiError
from onetake.server.speech.engine import Voice


def _encodable(text: str) -> str:
    text.encode()  # a lone surrogate, half of a character, raises a ValueError
    return text


class Order(BaseModel):
    """The body of `POST /speech`. Without a voice, the first one of `GET /voices` speaks."""

    text: Annotated[str, AfterValidator(_encodable)]
    voice: str | None = None
    speed: float = 1.0


def checked(order: Order, voices: Mapping[str, Voice]) -> Voice:
    """The voice that is to say it. Raises `ApiError` if it cannot."""
    voice = voice_of(order.voice, voices)
    if not order.text.strip():
        raise ApiError(422, "empty_text", "There is nothing to say: text is empty or blank.")
    slowest, fastest = voice.speeds
    if not slowest <= order.speed <= fastest:
        message = (
            f"speed is {order.speed:g}; for {voice.name} it must be "
            f"from {slowest:g} to {fastest:g}, and 1 is usual."
            if slowest < fastest
            else f"speed is {order.speed:g}; {voice.name} sets its pace itself: leave speed out."
        )
        raise ApiError(422, "bad_speed", message, minimum=slowest, maximum=fastest)
    limit, length = voice.limit, voice.limit.measure(order.text)
    if length > limit.value:
        message = (
            f"The text has {length} {limit.unit}; {voice.name} takes at most {limit.value} at once. "
            "It is never cut or split: send a shorter text or choose another voice."
        )
        raise ApiError(413, "text_too_long", message, limit=limit.value, unit=limit.unit, length=length)
    return voice


def voice_of(wanted: str | None, voices: Mapping[str, Voice]) -> Voice:
    """The voice of that id, without one the first. Raises `ApiError` if there is none."""
    if not voices:
        raise ApiError(503, "no_voice", "No speech engine is installed: pip install 'onetake[local]'")
    known = list(voices)
    if wanted is None:
        return voices[known[0]]
    if wanted not in voices:
        message = f"There is no voice {wanted!r}; there is: {', '.join(known)}."
        raise ApiError(404, "unknown_voice", message, voices=known)
    return voices[wanted]
