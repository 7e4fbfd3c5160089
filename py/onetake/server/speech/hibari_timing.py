"""When hibari says which word: its model computes how long each phoneme lasts, and does not tell.

    model = Hibari(model=telling(model_file), threads=1)
    model.sess = Listening(model.sess)
    model.from_phonemes("hɛlˈO wˈɜɹld.")
    model.sess.seconds_s                    # of each phoneme that was sent, and of the pauses around them

The model file stays as the package has it: a graph's outputs may be added to by appending a few bytes to a copy,
since messages of Protocol Buffers that follow one another are one message. Used by
`onetake.server.speech.hibari_voice`; the name of the tensor is that of hibari-tts 0.2.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

DURATIONS = b"/Clip_output_0"  # one number per phoneme id, in steps
STEP_S = 0.025

# Keys of onnx.proto: ModelProto.graph, GraphProto.output, ValueInfoProto.name; each a message or a string.
_GRAPH, _OUTPUT, _NAME = b"\x3a", b"\x62", b"\x0a"


@dataclass(frozen=True, slots=True)
class Word:
    """Characters `start` to `end` of a text are said from `start_s` to `end_s`."""

    start: int
    end: int
    start_s: float
    end_s: float


class Speller(Protocol):
    """What this needs of hibari."""

    vocab: dict[str, int]

    def g2p(self, text: str) -> str:
        """The phonemes of a text, with spaces between words."""


def telling(model: bytes) -> bytes:
    """The model with the durations as one more output."""
    added = DURATIONS
    for key in (_NAME, _OUTPUT, _GRAPH):
        added = key + bytes([len(added)]) + added
    return model + added


class Listening:
    """An onnxruntime session that keeps what the model tells beyond what hibari asks for."""

    def __init__(self, session: Any) -> None:
        self._session = session
        #: Of the last run: seconds of each phoneme id.
        self.seconds_s: list[float] = []

    def run(self, names: None, inputs: dict[str, Any]) -> list[Any]:
        """As of the session."""
        outputs: list[Any] = self._session.run(names, inputs)
        durations = outputs.pop()
        self.seconds_s = [steps * STEP_S for steps in durations.tolist()]
        return outputs


def word_spans(speller: Speller, sentence: str, parts: Sequence[str]) -> Iterator[tuple[int, int, int]] | None:
    """The words of `sentence` as (start, end, how many words of phonemes), where `parts` are its phonemes.

    None if it cannot be known: the phonemes of a sentence are not always those of its words one by one.
    """
    tokens = [match.span() for match in re.finditer(r"\S+", sentence)]
    said = sum(len(part.split()) for part in parts)
    counts = [1] * len(tokens)
    if said != len(tokens):  # numbers and signs, which are several words or none
        counts = [len((speller.g2p(sentence[start:end]) or "").split()) for start, end in tokens]
    if said != sum(counts):
        return None
    return iter([(start, end, count) for (start, end), count in zip(tokens, counts, strict=True)])


def phoneme_words(speller: Speller, phonemes: str, seconds_s: Sequence[float]) -> list[tuple[float, float]]:
    """When each word of `phonemes` is said; `seconds_s` as `Listening` has them, the first one a pause."""
    lasting = iter(seconds_s)
    at_s = next(lasting, 0.0)
    words: list[tuple[float, float]] = []
    inside = False
    for phoneme in phonemes:
        start_s = at_s
        if phoneme in speller.vocab:  # others are not sent
            at_s += next(lasting, 0.0)
        if phoneme.isspace():
            inside = False
        elif not inside:
            words.append((start_s, at_s))
            inside = True
        elif phoneme.isalpha():  # a full stop lasts as long as the pause that it is
            words[-1] = (words[-1][0], at_s)
    return words
