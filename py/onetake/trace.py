"""A session written down, so that it can be run again on any machine: events in, effects out, with times.

    trace = Trace()
    trace.begin(concurrency=2)                            # a reply, and with it a conductor, begins
    trace.note(1203.5, event, conductor.handle(event))
    print(trace.text())                                   # JSON Lines
    for number, event, expected, effects in replay(trace.text().splitlines()):
        assert effects == expected

Pure: import it anywhere. The page's trace is `window.onetake.trace()`, and `window.onetake.report()` saves it with
every word masked, below a line on the browser (`web/devtools.mjs`); `onetake replay FILE` runs either.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from math import isfinite, nan
from typing import Any, NamedTuple, get_args, get_type_hints

from onetake import cues
from onetake.conductor import Conductor
from onetake.cues import Effect, Event, Token
from onetake.errors import UsageError
from onetake.life import UnitState
from onetake.masks import mask, mask_code

#: Events kept, about 20 minutes of speech; beyond that the oldest replies are forgotten.
KEPT = 30_000

_CLASSES = {each.__name__: each for each in (*get_args(cues.Event), *get_args(cues.Effect))}


class Trace:
    """What one voice did since the page was opened, reply by reply."""

    def __init__(self) -> None:
        self._replies: deque[tuple[int, list[tuple[float, Event, list[Effect]]]]] = deque()
        self._kept = 0

    def begin(self, concurrency: int) -> None:
        """A new reply begins, with a conductor of that concurrency."""
        self._replies.append((concurrency, []))
        while self._kept > KEPT and len(self._replies) > 1:
            self._kept -= len(self._replies.popleft()[1])

    def note(self, at_ms: float, event: Event, effects: list[Effect]) -> None:
        """Write down what came in at `at_ms` and what followed from it."""
        if self._replies:
            self._replies[-1][1].append((at_ms, event, effects))
            self._kept += 1

    def text(self, anonymous: bool = False) -> str:
        """The trace as JSON Lines; `anonymous` masks every word of the conversation (`onetake.masks`)."""
        write = _masked if anonymous else _plain
        lines: list[dict[str, Any]] = []
        for concurrency, noted in self._replies:
            lines.append({"begin": {"concurrency": concurrency}})
            lines += [
                {"at_ms": at_ms, "event": write(event), "effects": [write(effect) for effect in effects]}
                for at_ms, event, effects in noted
            ]
        return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


class Step(NamedTuple):
    """One event run again: the line it stood on (from 1), what followed then and what follows now."""

    line: int
    event: Event
    expected: list[Effect]
    effects: list[Effect]


def as_json(effect: Effect) -> str:
    """An effect as it stands in a trace."""
    return json.dumps(_plain(effect), ensure_ascii=False)


def replay(lines: Iterable[str]) -> Iterator[Step]:
    """Run a trace, or a report with one, through fresh conductors.

    Raises UsageError naming the line that is no part of a trace.
    """
    conductor: Conductor | None = None
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            match json.loads(line):
                case {"report": _}:
                    continue
                case {"begin": {"concurrency": int(concurrency)}}:
                    conductor = Conductor(concurrency)
                    continue
                case record:
                    event = _read(record["event"])
                    expected = [_read(effect) for effect in record["effects"]]
        except (ValueError, KeyError, TypeError) as error:
            how = "save one with onetake.report() or onetake.trace()"
            raise UsageError(f"line {number} is no line of a trace ({error!r}); {how}") from None
        if conductor is None:
            raise UsageError(f"line {number} comes before any reply begins; a trace starts with a line of begin")
        yield Step(number, event, expected, conductor.handle(event))


def _plain(value: Any) -> Any:
    return _written(value, lambda _name, text: text)


def _masked(value: Any) -> Any:
    return _written(value, _masked_text)


def _masked_text(name: str, text: str) -> str:
    """A text of the field of that name; whatever is not known to be ours may hold words of the conversation."""
    match name:
        case "state":
            return UnitState(text)
        case "code":
            return mask_code(text)
        case _:
            return mask(text)


def _written(value: Any, write_text: Callable[[str, str], str], name: str = "") -> Any:
    if isinstance(value, Token):
        return list(value)
    if is_dataclass(value) and not isinstance(value, type):
        given = [each.name for each in fields(value) if each.init]
        written = {name: _written(getattr(value, name), write_text, name) for name in given}
        return {"type": type(value).__name__, **written} if type(value).__name__ in _CLASSES else written
    if isinstance(value, list | tuple):
        return [_written(each, write_text, name) for each in value]
    if isinstance(value, float) and not isfinite(value):
        return None  # JSON has no other word for a time that an engine does not know
    return write_text(name, value) if isinstance(value, str) else value


def _read(record: dict[str, Any]) -> Any:
    kind = _CLASSES[record["type"]]
    return _made(kind, {name: value for name, value in record.items() if name != "type"})


def _made(kind: Any, record: dict[str, Any]) -> Any:
    hints = get_type_hints(kind)
    return kind(**{name: _value(hints[name], value) for name, value in record.items()})


def _value(hint: Any, value: Any) -> Any:
    if hint is Token:
        return Token(*value)
    if is_dataclass(hint):
        return _made(hint, value)
    return _tupled(value) if isinstance(value, list) else value


def _tupled(value: Any) -> Any:
    """A sequence; only times in it can be missing."""
    if value is None:
        return nan
    return tuple(map(_tupled, value)) if isinstance(value, list) else value
