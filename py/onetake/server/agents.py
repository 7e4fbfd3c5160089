"""The agent that writes the replies: the scripted companion, or any model that pydantic-ai knows.

    agent = build_agent(None)                       # scripted: no key, no network
    agent = build_agent("anthropic:claude-opus-4-8")
    deps = Deps(spoken=True, take=1, now=local_now)
    async with begin_run(agent, "What is on today?", [], deps, told, timeout_s=60) as run: ...

Every model gets the same two tools, `clock` and `calendar`. May be imported by anything in `onetake.server`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import date, datetime
from types import NoneType
from typing import Any, Literal, get_args

from pydantic_ai import Agent, RunContext
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import Model, OpenAIChatCompatibleProvider, infer_model, known_model_names
from pydantic_ai.run import AgentRun
from typing_extensions import TypedDict  # pydantic asks for this one before Python 3.12

from onetake.errors import UsageError
from onetake.server.companion import companion
from onetake.server.telling import Told


@dataclass(frozen=True, slots=True)
class Deps:
    """What one run of the agent is told.

    `spoken`: whether the reply is read aloud. `take`: which take of it this is; the first is 1, and each
    regeneration asks for the next. `now`: reads the clock. `audio_tags`: whether the voice that reads it
    performs directions such as `[softly]`.
    """

    spoken: bool
    take: int
    now: Callable[[], datetime]
    audio_tags: bool = False


def local_now() -> datetime:
    """The time on the server's wall, with its time zone."""
    return datetime.now().astimezone()


def build_agent(model: str | None) -> Agent[Deps, str]:
    """An agent on the model of that name, `provider:model` as pydantic-ai writes it; `None` is scripted.

    Raises UsageError, in one line, if there is no such model or its provider's package or API key is missing.
    """
    return agent_for(companion() if model is None else named_model(model))


def agent_for(model: Model) -> Agent[Deps, str]:
    """The agent of this product on `model`: its instructions and its tools."""
    return Agent(model, deps_type=Deps, name="onetake", instructions=_MANNER, tools=[clock, calendar])


def begin_run(
    agent: AbstractAgent[Any, Any],
    prompt: str | None,
    history: Sequence[ModelMessage],
    deps: Deps,
    told: Told,
    timeout_s: float,
) -> AbstractAsyncContextManager[AgentRun[Any, Any]]:
    """A run of `agent`, ours or anybody's, that knows how it is heard; `told` is to follow it.

    `prompt` is None if the agent has to go on after `history`, which then ends with what it was asked.
    """
    return agent.iter(
        prompt,
        message_history=history,
        deps=own_deps(agent, deps),
        instructions=_delivery(deps),
        capabilities=[told],
        timeout=timeout_s,
    )


def own_deps(agent: AbstractAgent[Any, Any], deps: Deps) -> object:
    """What `agent` takes for its `deps`: ours, nothing, or a new one of its own type, made without arguments."""
    wanted = agent.deps_type
    if wanted is NoneType:
        return None
    return deps if issubclass(Deps, wanted) else wanted()


def _delivery(deps: Deps) -> str | None:
    parts = []
    if deps.spoken:
        parts.append(_SPEECH)
        if deps.audio_tags:
            parts.append(_AUDIO_TAGS)
    if deps.take > 1:
        parts.append(f"This is take {deps.take}: the listener wants another one. Word it differently.")
    return "\n\n".join(parts) or None


_MANNER = """\
You are a warm and attentive companion. Answer in the listener's language, in plain words and short
paragraphs. When you need a tool, say in a few words what you are about to do, then call it. The calendar
holds made-up entries for demonstration: say so if it matters."""

_SPEECH = """\
Your reply is read aloud, so write what can be said: no headings, lists, tables, links or code in the text.
What is better seen than heard goes into a card: a fenced block of Markdown whose info string is exactly
`card`. Cards are shown and not spoken. End the reply with one emotion tag for your face: [emotion:warm],
[emotion:joy], [emotion:calm] or [emotion:sad]."""

_AUDIO_TAGS = """\
The voice follows directions in square brackets inside the text, such as [softly], [laughs] or [whispers]:
a word or two, where they apply and only where they help. They are not spoken."""


class Clock(TypedDict):
    """The date (ISO 8601), the weekday and the time of day (24 hours, `HH:MM`) where the server is."""

    date: str
    weekday: str
    time: str


class Entry(TypedDict):
    """One thing in the calendar: when it starts (`HH:MM`) and what it is."""

    start: str
    title: str


class Day(TypedDict):
    """The calendar's entries of one day, in order."""

    date: str
    demonstration: bool
    entries: list[Entry]


async def clock(ctx: RunContext[Deps]) -> Clock:
    """The current date and time of day."""
    now = ctx.deps.now()
    return {"date": now.date().isoformat(), "weekday": now.strftime("%A"), "time": now.strftime("%H:%M")}


async def calendar(
    ctx: RunContext[Deps], day: date | None = None, language: Literal["en", "ko"] = "en"
) -> Day:
    """What is in the listener's calendar. It is a demonstration calendar with made-up entries.

    Args:
        day: The day to look up; today if it is left out.
        language: The language of the titles.
    """
    day = day or ctx.deps.now().date()
    number = day.toordinal()
    return {
        "date": day.isoformat(),
        "demonstration": True,
        "entries": [
            {"start": start, "title": titles[language]}
            for start, titles in (column[number % len(column)] for column in _DEMONSTRATION_DAYS)
        ],
    }


# One entry of each column makes a day. The columns differ in length, so that days repeat only after 60.
_DEMONSTRATION_DAYS: list[list[tuple[str, dict[str, str]]]] = [
    [
        ("09:30", {"en": "coffee with Anna", "ko": "민지와 커피 약속"}),
        ("10:00", {"en": "a call with the garden club", "ko": "정원 모임 전화"}),
        ("11:00", {"en": "a visit to the library", "ko": "도서관 방문"}),
    ],
    [
        ("13:00", {"en": "lunch at the market", "ko": "시장에서 점심 식사"}),
        ("14:00", {"en": "a walk by the river", "ko": "강가 산책"}),
        ("15:30", {"en": "a piano lesson", "ko": "피아노 수업"}),
        ("16:00", {"en": "tea with your sister", "ko": "가족과 차 한 잔"}),
    ],
    [
        ("18:30", {"en": "dinner with friends", "ko": "친구들과 저녁 식사"}),
        ("19:00", {"en": "a concert in the park", "ko": "공원 음악회"}),
        ("19:30", {"en": "a film with the neighbors", "ko": "이웃과 영화 모임"}),
        ("20:00", {"en": "a quiet evening with a book", "ko": "책 읽는 저녁"}),
        ("20:30", {"en": "a call with your parents", "ko": "부모님과 통화"}),
    ],
]


def named_model(name: str) -> Model:
    """The model of that name; UsageError, in one line, if there is none or it cannot be used."""
    provider, _, model = name.partition(":")
    try:
        if not (provider and model):
            raise UserError(f"Unknown model: {name}")
        return infer_model(name)
    except Exception as error:
        raise UsageError(_why_not(name, error)) from error


def _why_not(name: str, error: Exception) -> str:
    """One line on why pydantic-ai could not make the model, with what to do next."""
    reason = " ".join(str(error).split())
    if isinstance(error, ImportError):
        return f"The model {name!r} needs a package that is not installed. {reason}."
    if reason.startswith("Unknown model"):
        hint = f" (did you mean {near})" if (near := reason.partition("Did you mean ")[2].rstrip("?")) else ""
        return (
            f"No model is called {name!r}{hint}. Write provider:model with one of the providers "
            f"{', '.join(_providers())}; or name none for the scripted companion."
        )
    if variable := re.match(r"Set the `(\w+)` environment variable", reason):
        return f"The model {name!r} is not set up: set the environment variable {variable[1]}."
    if isinstance(error, UserError):
        return f"The model {name!r} is not set up. {reason}"
    # What a provider's own client says may quote a key, or a URL that holds one.
    return f"The model {name!r} cannot be used ({type(error).__name__}): check its provider's settings."


def _providers() -> list[str]:
    """The prefixes of model names that the installed pydantic-ai knows."""
    listed = {known.partition(":")[0] for known in known_model_names()} - {"test"}
    compatible: tuple[str, ...] = get_args(OpenAIChatCompatibleProvider.__value__)
    return sorted(prefix for prefix in {*listed, *compatible} if not prefix.startswith("gateway/"))
