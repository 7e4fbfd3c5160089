"""Onetake speaks a streaming chat reply with one continuous voice: each speakable unit is one take.

The words of this package, in Python, on the wire and in the page:

reply        one answer, streamed
turn         what the listener waits for; it may span several model responses, with tools in between
unit         one speakable stretch of a reply: one synthesis request
unit end     the code-point offset where a unit closes
cursor       how far units were taken
range        a unit's `(start, end)` in the reply
generation   1, 2, …, raised by every reset
take         the audio of one unit
heard        the code point up to which the listener has heard the reply
card         a fenced block whose info string is `card`: shown, never spoken
emotion tag  `[emotion:warm]` at a unit's end: drives the face, never spoken
audio tag    `[softly]`: a direction to the engine, sent as written to engines that know tags

    from onetake import Cutter, for_engine
    cutter = Cutter()
    cutter.feed("Hello there. [emotion:warm]")
    cutter.finish()
    [for_engine(cutter.slice(unit.start, unit.end), audio_tags=False).text for unit in cutter.take()]

Positions are Unicode code points, everywhere. What is imported here is pure and runs anywhere;
`onetake.browser` is the page's side, `onetake.server` the server's, and neither is imported by the rest.
"""

from __future__ import annotations

from onetake.boundaries import paragraphs
from onetake.errors import UsageError
from onetake.heard import Heard, Pace
from onetake.spoken import Spoken, for_engine
from onetake.units import Cutter, Span, Unit, speakable, take_units

__all__ = [
    "Cutter",
    "Heard",
    "Pace",
    "Span",
    "Spoken",
    "Unit",
    "UsageError",
    "for_engine",
    "paragraphs",
    "speakable",
    "take_units",
]
