"""What speech services say when they refuse, in one vocabulary.

    refused("ElevenLabs", 429, headers, b'{"detail": {"status": "system_busy", "message": "…"}}', str)
    # Refused: code "engine_busy", message "ElevenLabs: …", passing

Every vendor words errors differently, and so do the many servers that speak OpenAI's: `{"error": {"message"}}`,
`{"detail": {"message"}}`, `{"detail": "…"}`, `{"detail": [{"loc", "msg"}]}`, `{"message"}`. Does no I/O. Used by
the engines of this package.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from onetake.server.speech.engine import EngineError

# The service's own codes hold the first part -> what it means. The first row that fits counts.
_MEANINGS = (
    ("too_many_concurrent", "too_many_concurrent"),
    ("system_busy", "engine_busy"),
    ("quota", "quota_exceeded"),
    ("max_character_limit", "text_too_long"),
    ("string_above_max_length", "text_too_long"),
    ("voice_not_found", "voice_not_found"),
)
_BY_STATUS = {
    401: "key_refused",
    402: "quota_exceeded",
    403: "key_refused",
    413: "text_too_long",
    429: "engine_busy",
    503: "engine_busy",
    529: "engine_busy",
}


class Refused(EngineError):
    """A service answered with an error. `said` holds its own codes for it, or "".

    `passing`: the same request may well be served in a moment. `retry_after_s`: when, if it told.
    """

    def __init__(self, code: str, message: str, status: int, said: str, headers: Mapping[str, str]) -> None:
        super().__init__(code, message)
        self.status = status
        self.said = said
        self.headers = headers

    @property
    def passing(self) -> bool:
        """Too many requests at once, a busy service or a failure in it; not an empty account or a bad request."""
        return self.code in ("too_many_concurrent", "engine_busy", "engine_failed") and self.status != 501

    @property
    def retry_after_s(self) -> float | None:
        """Seconds to wait as the header `Retry-After` says, which names seconds or a date."""
        said = self.headers.get("retry-after", "")
        try:
            return max(0.0, float(said))
        except ValueError:
            pass
        try:
            return max(0.0, parsedate_to_datetime(said).timestamp() - time.time())
        except ValueError:
            return None


def refused(
    name: str, status: int, headers: Mapping[str, str], body: bytes, tell: Callable[[str], str]
) -> Refused:
    """The error of an answer. `tell` makes text fit for people."""
    said, message = complaint(body)
    message = f"{name}: {message}" if message else f"{name} answered with status {status}."
    meaning = next((meaning for part, meaning in _MEANINGS if part in said.lower()), None)
    code = meaning or _BY_STATUS.get(status) or ("request_refused" if 300 <= status < 500 else "engine_failed")
    return Refused(code, tell(message), status, said, headers)


def complaint(body: bytes) -> tuple[str, str]:
    """The service's own code and words in the body of an error; empty where it has none."""
    try:
        record = json.loads(body)
    except ValueError:
        text = body.decode(errors="replace").strip()
        return "", "" if text.startswith("<") else text  # a proxy's page says nothing to a listener
    return _read(record)


def _read(record: Any) -> tuple[str, str]:
    match record:
        case {"error": dict() as inner} | {"detail": dict() as inner}:
            return _read(inner)
        case {"message": str(message)} | {"msg": str(message)}:
            codes = (record.get(each) for each in ("code", "status", "error", "type"))
            return " ".join(code for code in codes if isinstance(code, str)), message
        case {"error": str() | list() as inner} | {"detail": str() | list() as inner}:
            return _read(inner)
        case str():
            return "", record
        case list():
            return "", "; ".join(filter(None, map(_item, record)))
    return "", ""


def _item(problem: Any) -> str:
    """One entry of a list of problems, as FastAPI words them."""
    _, message = _read(problem)
    where = problem.get("loc") if isinstance(problem, dict) else None
    return f"{'.'.join(map(str, where))}: {message}" if isinstance(where, list) and where else message
