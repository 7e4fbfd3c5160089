"""What every adapter turns its protocol into. Positions are code points of the reply's text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class Start:
    """A reply begins (own wire only): its id, its conversation's id and the generation of its first take."""

    reply: str
    conversation: str
    generation: int


@dataclass(frozen=True, slots=True)
class Delta:
    """More text."""

    text: str


@dataclass(frozen=True, slots=True)
class UnitEnd:
    """The text up to `at` is settled: a speakable unit ends there."""

    at: int


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool call begins (`phase` is `"call"`) or has its result (`"result"`), with the text at length `at`.

    `failed` says of a result that the tool could not do what it was called for.
    """

    id: str
    name: str
    phase: str
    at: int
    failed: bool = False


@dataclass(frozen=True, slots=True)
class Reset:
    """The text from `at` on is void and will be written anew; on our own wire as `generation`."""

    at: int
    generation: int | None = None


@dataclass(frozen=True, slots=True)
class Final:
    """Nothing more comes: what remains is the last unit.

    `outcome` says whether the model was done, was cut off (by a limit or a filter), or refused.
    """

    outcome: Literal["complete", "truncated", "refusal"] = "complete"


@dataclass(frozen=True, slots=True)
class Stopped:
    """The listener ended the reply early, at `length` (own wire only). The trailing unit stays open."""

    length: int


@dataclass(frozen=True, slots=True)
class Failed:
    """The reply broke off. `code` is for programs, `message` for people; the trailing unit stays open.

    `retryable` says whether the other side thinks that asking again as before may help.
    """

    code: str
    message: str
    retryable: bool = False


Event: TypeAlias = Start | Delta | UnitEnd | Tool | Reset | Final | Stopped | Failed
