"""How far the listener has heard a take: from played seconds to a code point of the reply.

    heard = Heard(for_engine("One moment.", audio_tags=True), Pace())
    heard.received(0.9, complete=True)
    heard.at(0.0)       # 0: nothing heard
    heard.at(0.5)       # a position inside the text
    heard.at(0.9)       # 11: played out

With the engine's alignment where there is one, by speaking weight where there is none or where it cannot be
trusted. Text is never matched by words: engines rewrite numbers and quotes, and words repeat. Pure: import it
anywhere.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from math import inf, isfinite

from onetake.errors import UsageError
from onetake.markup import audio_tags
from onetake.spoken import Spoken

# Speaking weight of a code point: about the seconds it takes at an unhurried pace. Only proportions matter
# once a take is complete, and the pace is learned. Rows: first, last, weight; in code point order.
_WEIGHTS: tuple[tuple[str, str, float], ...] = (
    ("\u0590", "\u07bf", 0.09),  # Hebrew, Arabic, Syriac, Thaana: short vowels are not written
    ("\u1100", "\u11ff", 0.07),  # Hangul jamo: two or three make a syllable
    ("\u3041", "\u30ff", 0.13),  # kana: a mora
    ("\u3131", "\u318e", 0.13),  # Hangul letters by themselves
    ("\u3400", "\u9fff", 0.20),  # Han: a syllable in Chinese, often two morae in Japanese
    ("\uac00", "\ud7a3", 0.16),  # Hangul syllables
    ("\uf900", "\ufaff", 0.20),  # Han
    ("\U00020000", "\U0003ffff", 0.20),  # Han
)
_LETTER_WEIGHT = 0.07
_DIGIT_WEIGHT = 0.25  # read as number words
_PAUSES = dict.fromkeys(".!?…。！？｡؟।\n", 0.40) | dict.fromkeys(",;:、，；：､،؛—–", 0.20)
_INSIDE_NUMBERS = ".,:"  # no pause before a letter or digit, as in 3.14, 12:30 and example.org
_READ_AS_WORDS = "%&+=@#$€£¥₩°"
_READ_AS_WORD_WEIGHT = 0.30
_SIGN_WEIGHT = 0.02  # white space, quotes, brackets, markup, emoji: hardly or not at all heard
_AUDIO_TAG_WEIGHT = 0.0  # a direction is performed, not read

_PRIOR_S = 1.0  # how many seconds of learned takes the default pace is worth
_STILL_COMING = 1.1  # a take that is arriving will be a tenth longer at least: its last words wait


def weights(text: str) -> list[float]:
    """The speaking weight of each code point; those of an audio tag have none, signs in a row pause once."""
    found = [_weight(character) for character in text]
    for place, (sign, following) in enumerate(pairwise(text)):
        if sign in _PAUSES and (following in _PAUSES or (sign in _INSIDE_NUMBERS and following.isalnum())):
            found[place] = _SIGN_WEIGHT
    for start, end in audio_tags(text):
        found[start:end] = [_AUDIO_TAG_WEIGHT] * (end - start)
    return found


class Pace:
    """How much speaking weight a voice gets through in a second, learned from its finished takes."""

    def __init__(self) -> None:
        self._weight = _PRIOR_S
        self._seconds = _PRIOR_S

    def learn(self, text: str, seconds_s: float) -> None:
        """Take note that speaking `text` took `seconds_s`. A take without text or sound teaches nothing."""
        weight = sum(weights(text))
        if weight > 0 and isfinite(seconds_s) and seconds_s > 0:
            self._weight += weight
            self._seconds += seconds_s

    def seconds(self, text: str) -> float:
        """How long speaking `text` is expected to take."""
        return self.seconds_of(sum(weights(text)))

    def seconds_of(self, weight: float) -> float:
        """How long speaking text of this weight is expected to take."""
        return weight * self._seconds / self._weight


class Heard:
    """The heard position of one take.

    Promises, whatever the engine says: the position never goes back; it is `spoken.start` before the first
    sample, and `spoken.end` only once the take is complete and played out; nothing is claimed beyond the
    audio received.
    """

    def __init__(self, spoken: Spoken, pace: Pace) -> None:
        self._spoken = spoken
        self._pace = pace
        self._spent = list(accumulate(weights(spoken.text), initial=0.0))  # weight before each code point
        self._timed: list[tuple[int, float, float]] = []  # the alignment as given: code points, start, end
        self._anchors = _Anchors(inf)
        self._received_s = 0.0
        self._complete = False
        self._high = spoken.start

    def align(self, chars: Sequence[str], starts: Sequence[float], ends: Sequence[float]) -> None:
        """Add a piece of the engine's alignment; pieces follow one another from the start of the text sent.

        The n-th code point in all `chars` stands for the n-th of the text, whatever it is. Seconds count from
        the start of the take. The alignment is not trusted: lengths may differ, and times that stick, go
        back, are no numbers, or run beyond the audio are passed over; the text between two good ones is
        placed by speaking weight.
        """
        for char, start_s, end_s in zip(chars, starts, ends, strict=False):
            self._timed.append((len(char), start_s, end_s))
            self._anchors.add(len(char), start_s, end_s)

    def received(self, seconds_s: float, complete: bool) -> None:
        """So much audio of the take has arrived in all; `complete` when no more will. Never taken back.

        Raises `UsageError` unless `seconds_s` is a finite number of 0 or more.
        """
        if not (isfinite(seconds_s) and seconds_s >= 0):
            raise UsageError(f"received({seconds_s}): audio lasts 0 or more seconds; count its frames")
        self._received_s = max(self._received_s, seconds_s)
        self._complete = self._complete or complete
        if self._complete and self._anchors.limit_s != self._received_s:
            self._anchors = _Anchors(self._received_s)
            for size, start_s, end_s in self._timed:
                self._anchors.add(size, start_s, end_s)

    def at(self, played_s: float) -> int:
        """The code point of the reply up to which it is heard when `played_s` of the take have sounded.

        The highest position given so far when `played_s` goes back. A code point counts once it has sounded
        to its end.
        """
        if not (played_s > 0 and self._received_s > 0):
            return self._high
        if self._complete and played_s >= self._received_s:
            self._high = self._spoken.end
        else:
            # The last code point stays open until the take has played out: engines end on silence, and err.
            last = max(len(self._spoken.text) - 1, 0)
            index = min(self._index(min(played_s, self._received_s)), last)
            if index:
                self._high = max(self._high, self._spoken.to_reply(index))
        return self._high

    def _index(self, played_s: float) -> int:
        """The code points of the text sent whose end lies at or before `played_s`."""
        length = len(self._spoken.text)
        after = bisect_right(self._anchors.times, played_s)
        before_index = min(self._anchors.indexes[after - 1], length)
        before_s = self._anchors.times[after - 1]
        if after < len(self._anchors.times):
            after_index, after_s = min(self._anchors.indexes[after], length), self._anchors.times[after]
        else:
            after_index, after_s = length, self._end_s(before_index, before_s)
        if played_s >= after_s:
            return after_index
        share = (played_s - before_s) / (after_s - before_s)
        spent = self._spent[before_index] + share * (self._spent[after_index] - self._spent[before_index])
        return min(bisect_right(self._spent, spent) - 1, after_index)

    def _end_s(self, index: int, since_s: float) -> float:
        """When the whole text will have sounded, given that code point `index` began at `since_s`."""
        if self._complete:
            return self._received_s
        rest_s = self._pace.seconds_of(self._spent[-1] - self._spent[index])
        return max(since_s + rest_s, self._received_s * _STILL_COMING)


class _Anchors:
    """The times of an alignment that can be trusted: each later than the one before, all before the limit.

    `indexes[i]` code points of the text have sounded at `times[i]`. Both begin with 0.
    """

    def __init__(self, limit_s: float) -> None:
        self.limit_s = limit_s
        self.indexes = [0]
        self.times = [0.0]
        self._index = 0

    def add(self, size: int, start_s: float, end_s: float) -> None:
        """The next `size` code points sound from `start_s` to `end_s`."""
        before, self._index = self._index, self._index + size
        # Comparisons with NaN are false, so NaN is passed over like a time that sticks or goes back.
        if self.times[-1] <= start_s < end_s < inf and start_s < self.limit_s:
            self._put(before, start_s)
        if self.times[-1] < end_s < self.limit_s:
            self._put(self._index, end_s)

    def _put(self, index: int, time_s: float) -> None:
        if time_s == self.times[-1]:
            self.indexes[-1] = index
        else:
            self.indexes.append(index)
            self.times.append(time_s)


@lru_cache(maxsize=4096)
def _weight(character: str) -> float:
    pause = _PAUSES.get(character)
    if pause is not None:
        return pause
    place = bisect_left(_WEIGHTS, character, key=lambda row: row[1])
    if place < len(_WEIGHTS) and _WEIGHTS[place][0] <= character and character.isalpha():
        return _WEIGHTS[place][2]
    if character in _READ_AS_WORDS:
        return _READ_AS_WORD_WEIGHT
    category = unicodedata.category(character)
    if category[0] == "L":
        return _LETTER_WEIGHT
    if category[0] == "N":
        return _DIGIT_WEIGHT
    if category[0] in "MC":  # combining marks, joiners, controls, lone surrogates: part of what stands before
        return 0.0
    return _SIGN_WEIGHT
