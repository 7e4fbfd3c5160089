"""JSON objects one after the other, or as the items of one array that grows, decoded incrementally from bytes.

    decoder = ObjectDecoder()
    decoder.feed(b'[{"a": 1},\\n{"b"')        # ['{"a": 1}']
    decoder.feed(b': 2}]')                   # ['{"b": 2}']

Used by the adapters of `onetake.streams` whose bodies may be such an array.
"""

from __future__ import annotations

import codecs
import io
import re

OBJECT_LIMIT = 4 * 1024 * 1024
"""Characters that one object may have before its end is seen."""

_OUTSIDE_STRING = re.compile(r'["{}]')
_INSIDE_STRING = re.compile(r'["\\]')


class ObjectDecoder:
    """Decodes one response body. What stands between objects is passed over.

    `too_long` turns true when an object goes over OBJECT_LIMIT; from there on nothing more is decoded.
    """

    def __init__(self) -> None:
        self.too_long = False
        self._utf8 = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._open = io.StringIO()
        self._length = 0
        self._depth = 0
        self._in_string = False
        self._escaped = False  # the next character is, by a backslash that ended the piece before

    def feed(self, data: bytes) -> list[str]:
        """The objects that these bytes complete."""
        text = self._utf8.decode(data)
        objects: list[str] = []
        start = 0 if self._depth else None  # of what belongs to the open object
        at = int(self._escaped and bool(text))
        self._escaped = self._escaped and not text
        while not self.too_long and (
            found := (_INSIDE_STRING if self._in_string else _OUTSIDE_STRING).search(text, at)
        ):
            at = found.end()
            match found[0]:
                case "\\":
                    self._escaped = at == len(text)
                    at += 1
                case '"' if self._depth:
                    self._in_string = not self._in_string
                case "{":
                    start = found.start() if start is None else start
                    self._depth += 1
                case "}" if self._depth:
                    self._depth -= 1
                    if not self._depth and start is not None:
                        self._hold(text[start:at])
                        objects += self._take()
                        start = None
        if start is not None:
            self._hold(text[start:])
        return objects

    def close(self) -> list[str]:
        """Nothing: an object that is still open is cut."""
        return []

    def _hold(self, piece: str) -> None:
        self._length += len(piece)
        self.too_long = self._length > OBJECT_LIMIT
        if self.too_long:
            self._open = io.StringIO()
        else:
            self._open.write(piece)

    def _take(self) -> list[str]:
        whole = self._open.getvalue()
        self._open = io.StringIO()
        self._length = 0
        return [] if self.too_long else [whole]
