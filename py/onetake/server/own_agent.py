"""An agent of the user's own, by the name under which it can be imported: `MODULE:AGENT`.

    agent = load_agent("my_app.assistant:agent", model=None)

May be imported by `onetake.server.cli` only.
"""

from __future__ import annotations

import importlib
import sys
from operator import attrgetter
from pathlib import Path
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.agent import AbstractAgent

from onetake.errors import UsageError
from onetake.server.agents import Deps, local_now, named_model, own_deps


def load_agent(name: str, model: str | None) -> AbstractAgent[Any, Any]:
    """The pydantic-ai agent `name`, from the current directory or from what is installed; on `model` if one is named.

    Raises UsageError, in one line, if there is none or it cannot write replies.
    """
    module_name, _, attribute = name.partition(":")
    if not (module_name and attribute):
        raise UsageError(f"{name!r} names no agent: write MODULE:AGENT, such as my_app:agent")
    agent = _attribute(_module(module_name), attribute)
    if not isinstance(agent, AbstractAgent):
        raise UsageError(f"{name} is a {type(agent).__name__}, not a pydantic-ai Agent: name one")
    if model is not None:
        if not isinstance(agent, Agent):
            raise UsageError(f"{name} is a {type(agent).__name__}, which keeps its own model: leave out --model")
        agent.model = named_model(model)
    _check(name, agent)
    return agent


def _module(name: str) -> Any:
    if (here := str(Path.cwd())) not in sys.path:  # the command lives elsewhere, unlike `python -m`
        sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    except Exception as error:
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if missing and f"{name}.".startswith(f"{missing}."):
            raise UsageError(f"there is no module {missing!r}, here in {here} or installed") from None
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise UsageError(f"the module {name!r} cannot be imported: {reason}") from error


def _attribute(module: Any, name: str) -> object:
    try:
        return attrgetter(name)(module)
    except AttributeError:
        agents = [each for each, value in vars(module).items() if isinstance(value, AbstractAgent)]
        there = f"; there is: {', '.join(agents)}" if agents else ""
        raise UsageError(f"the module {module.__name__!r} has no {name!r}{there}") from None


def _check(name: str, agent: AbstractAgent[Any, Any]) -> None:
    if agent.model is None:
        raise UsageError(f"{name} has no model: give it one, or name one with --model")
    if agent.output_type is not str:
        raise UsageError(f"{name} answers with {agent.output_type!r}, not text: let its output_type be str")
    try:
        own_deps(agent, Deps(spoken=True, take=1, now=local_now))
    except TypeError as error:
        wanted = getattr(agent.deps_type, "__name__", agent.deps_type)
        raise UsageError(
            f"{name} wants deps that cannot be made without arguments ({wanted}: {error}): give its fields defaults"
        ) from error
