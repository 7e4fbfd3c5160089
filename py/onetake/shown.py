"""What a stretch of a reply looks like: its text, its directions to the voice, its cards.

    shown("It is [softly] fine.\\n```card\\n|a|\\n```\\n[emotion:warm]")
    # [Piece("text", "It is ", 0), Piece("direction", "softly", 7), Piece("text", " fine.", 14),
    #  Piece("card", "|a|", 21)]

The other view of the text is what is spoken of it (`onetake.spoken`); both come from `onetake.markup`.
Pure: import it anywhere. Takes time linear in the stretch.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Literal

from onetake.markup import LINE_BREAK, audio_tags, cards, read


@dataclass(frozen=True, slots=True)
class Piece:
    """One part to show. `text` of a card is the Markdown inside its fence, of a direction what its brackets hold.

    `start` is the code point of the stretch at which `text` begins, or at which the card does.
    """

    kind: Literal["text", "direction", "card"]
    text: str
    start: int


def shown(stretch: str) -> list[Piece]:
    """The parts of `stretch` in order. Emotion tags at its end and outer white space are not shown."""
    directions = deque(audio_tags(stretch))
    placed: list[Piece] = []
    for start, end in cards(stretch):
        placed.append(Piece("card", _inside(stretch[start:end]), start))
    for piece_start, piece_end in read(stretch).pieces:
        at = piece_start
        while directions and directions[0][0] < piece_end:
            start, end = directions.popleft()
            if start >= at and end <= piece_end:
                inside = stretch[start + 1 : end - 1]
                placed.append(Piece("text", stretch[at:start], at))
                placed.append(Piece("direction", inside.strip(), end - 1 - len(inside.lstrip())))
                at = end
        placed.append(Piece("text", stretch[at:piece_end], at))
    placed.sort(key=lambda piece: piece.start)
    return [piece for piece in placed if piece.text]


def _inside(card: str) -> str:
    """A card without its fence lines; one that is still being written has only the first."""
    opening = LINE_BREAK.search(card)
    if opening is None:
        return ""
    body = card[opening.end() :].rstrip("\r\n")
    fence = card.lstrip(" ")
    marks = len(fence) - len(fence.lstrip("`"))
    breaks = list(LINE_BREAK.finditer(body))
    last = body[breaks[-1].end() :] if breaks else body
    if last.strip(" \t").startswith("`" * marks) and not last.strip(" \t`"):
        return body[: breaks[-1].start()] if breaks else ""
    return body
