"""Texts made unreadable but of the same shape: what a bug report may hold of a conversation.

    mask("Hi 안녕, 42!")             # "Aa 가가, 00!"
    mask_code("text_too_long")      # as it is: a code of Onetake's own
    mask_code("no_such_tea")        # "aa_aaaa_aaa"

Pure: import it anywhere.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

#: What Onetake itself calls an error. Any other code comes from a foreign server, which may put words into it.
CODES = frozenset(
    # a reply, and the way to it
    "aborted bad_event_id connection_lost conversation_too_long event_too_long events_lost id_taken malformed_event "
    "model_auth model_busy model_error model_quota model_refused model_unknown model_unreachable refusal reply_failed "
    "reply_too_long run_error server_stopped server_unreachable too_many_calls too_many_messages unknown_reply "
    "writer_lost "
    # a take, and the way to it
    "audio_undecodable bad_audio bad_speed engine_busy engine_failed engine_timeout engine_unreachable internal "
    "key_refused no_audio no_voice not_a_take quota_exceeded request_refused speech_timeout speech_unreachable "
    "take_cut_short take_too_long too_many_concurrent unknown_voice unsupported_audio voice_not_found "
    # either
    "bad_request empty_text internal_error text_too_long token_required".split()
)

#: One letter of each script for which there is no `… LETTER A`. Those that `onetake.heard` weighs apart come first.
_LETTERS = {
    "HANGUL": "가", "CJK": "中", "HIRAGANA": "あ", "KATAKANA": "ア", "ARABIC": "ا", "HEBREW": "א",
    "CYRILLIC": "я", "GREEK": "α", "THAI": "ก",
}  # fmt: skip
_OTHER_LETTER = "ä"
_MARK = "\u0301"
_SIGN, _WIDE_SIGN = "☆", "🙂"  # the second is two UTF-16 units long, as most emoji are
_TAGS = range(0xE0000, 0xE0080)  # invisible copies of ASCII
_TAG_SPACE = "\U000e0020"


def mask(text: str) -> str:
    """`text` with another letter of the same script for each letter, 0 for each digit, a stand-in for each emoji.

    As many code points as before, and the same for all texts of one shape. White space, punctuation, ASCII signs and
    signs of money stay: cutting and pausing go by them.
    """
    return "".join(map(_masked, text))


def mask_code(code: str) -> str:
    """An error's code as it is if it is Onetake's own or the status of an HTTP response, otherwise masked."""
    return code if code in CODES or re.fullmatch(r"http_[1-5]\d\d", code) else mask(code)


@lru_cache(maxsize=4096)
def _masked(character: str) -> str:
    category = unicodedata.category(character)
    if category[0] == "L":
        return _letter(character)
    if category[0] == "N":
        return "0"
    if category[0] == "M":
        return _MARK
    if ord(character) in _TAGS:
        return _TAG_SPACE
    # Z, P and Sc; controls and joiners, which are no part of any word; and the signs that markup is made of.
    if category[0] in "ZP" or category in ("Sc", "Cc", "Cf") or character.isascii():
        return character
    return _SIGN if ord(character) <= 0xFFFF else _WIDE_SIGN


def _letter(character: str) -> str:
    if character.isascii():
        return "A" if character.isupper() else "a"
    script = unicodedata.name(character, "").split(" ")[0]
    if script in _LETTERS:
        return _LETTERS[script]
    try:
        return unicodedata.lookup(f"{script} LETTER A")
    except KeyError:
        return _OTHER_LETTER
