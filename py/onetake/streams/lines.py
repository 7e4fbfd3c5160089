"""Lines of text, decoded incrementally from bytes: the framing that SSE and NDJSON share.

    decoder = LineDecoder()
    decoder.feed(b'{"a": 1}\\r')         # ['{"a": 1}']
    decoder.feed(b'\\n{"b"')             # []
    decoder.close()                     # ['{"b"']

Lines end at CRLF, LF or CR and nowhere else: U+2028, U+0085 and their kind may stand inside JSON. Used by the
adapters of `onetake.streams`.
"""

from __future__ import annotations

import codecs
import io
import re

LINE_LIMIT = 4 * 1024 * 1024
"""Characters that one line may have before its end is seen; memory stays within a small multiple of this."""

_LINE_END = re.compile("\r\n|\n|\r")


class LineDecoder:
    """Decodes one response body; the state ends with it. Bytes that are not UTF-8 become U+FFFD.

    `too_long` turns true when a line goes over LINE_LIMIT; from there on nothing more is decoded.
    """

    def __init__(self) -> None:
        self.too_long = False
        self._utf8 = codecs.getincrementaldecoder("utf-8-sig")("replace")
        self._skip_line_feed = False
        self._open = io.StringIO()  # compact, where a list of single characters is not
        self._length = 0

    def feed(self, data: bytes) -> list[str]:
        """The lines that these bytes complete, without their ends."""
        return self._split(self._utf8.decode(data))

    def close(self) -> list[str]:
        """The last line, if no line end closed it."""
        lines = self._split(self._utf8.decode(b"", final=True))
        return lines if self.too_long or not self._length else [*lines, self._take()]

    def _split(self, text: str) -> list[str]:
        if not text or self.too_long:
            return []
        if self._skip_line_feed and text[0] == "\n":  # the other half of a CRLF
            text = text[1:]
        self._skip_line_feed = text.endswith("\r")
        *ends, rest = _LINE_END.split(text)
        lines: list[str] = []
        for end in ends:
            if not self._hold(end):
                return lines
            lines.append(self._take())
        self._hold(rest)
        return lines

    def _hold(self, piece: str) -> bool:
        """Add to the line that is being read; false if it has become too long for that."""
        self._length += len(piece)
        self.too_long = self._length > LINE_LIMIT
        if self.too_long:
            self._open = io.StringIO()
        else:
            self._open.write(piece)
        return not self.too_long

    def _take(self) -> str:
        line = self._open.getvalue()
        self._open = io.StringIO()
        self._length = 0
        return line
