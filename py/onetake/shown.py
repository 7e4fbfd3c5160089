"""What a stretch of a reply looks like: its text, its directions to the voice, its cards.

    shown("It is [softly] fine.\\n```card\\n|a|\\n```\\n[emotion:warm]")
    # [Piece("text", "It is "), Piece("direction", "softly"), Piece("text", " fine."), Piece("card", "|a|")]

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
    """One part to show. `text` of a card is the Markdown inside its fence, of a direction what its brackets hold."""

    kind: Literal["text", "direction", "card"]
    text: str


def shown(stretch: str) -> list[Piece]:
    """The parts of `stretch` in order. Emotion tags at its end and outer white space are not shown."""
    directions = deque(audio_tags(stretch))
    placed: list[tuple[int, Piece]] = []
    for start, end in cards(stretch):
        placed.append((start, Piece("card", _inside(stretch[start:end]))))
    for piece_start, piece_end in read(stretch).pieces:
        at = piece_start
        while directions and directions[0][0] < piece_end:
            start, end = directions.popleft()
            if start >= at and end <= piece_end:
                placed.append((at, Piece("text", stretch[at:start])))
                placed.append((start, Piece("direction", stretch[start + 1 : end - 1].strip())))
                at = end
        placed.append((at, Piece("text", stretch[at:piece_end])))
    placed.sort(key=lambda item: item[0])
    return [piece for _, piece in placed if piece.text]


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
