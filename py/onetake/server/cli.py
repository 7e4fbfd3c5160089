"""The command line: `onetake` serves the page and the API.

    onetake --port 8000 --no-browser --model anthropic:claude-opus-4-8
    onetake say "Hello there." -o hello.wav
    onetake cut reply.md --ends 12,40
    onetake serve my_app:agent --redis redis://localhost
"""

from __future__ import annotations

import ipaddress
import os
import socket
import webbrowser
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from onetake.errors import UsageError
from onetake.server.cut import cut
from onetake.server.environment import env_file
from onetake.server.refusal import Refusal
from onetake.server.replay import replay
from onetake.server.say import say
from onetake.server.speech.engine import Engine
from onetake.server.voices import voices

if TYPE_CHECKING:
    from onetake.server.store import Store

LOOPBACK_NAMES = ["localhost", "127.0.0.1", "::1"]


SERVING = (
    click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on."),
    click.option("--port", default=8600, show_default=True, type=click.IntRange(0, 65535), help="0: any free one."),
    click.option("--no-browser", is_flag=True, help="Do not open the page in a browser."),
    click.option("--model", help="Who writes the replies, as pydantic-ai names it. Without: a scripted companion."),
    click.option("--voice", help="Id of the voice that speaks. Without: the first one there is."),
    click.option("--redis", metavar="URL", help="Keep replies there, so that several servers share them."),
    click.option(
        "--allow-origin",
        "origins",
        metavar="ORIGIN",
        multiple=True,
        help="Pages of that origin, such as https://chat.example, may use this server. Repeat it for more; or set "
        "ONETAKE_ALLOW_ORIGINS, separated by commas.",
    ),
)


def _serving(command: Callable[..., None]) -> Callable[..., None]:
    """The options of everything that serves."""
    for option in reversed(SERVING):
        command = option(command)
    return env_file(command)


@click.group(invoke_without_command=True)
@_serving
@click.version_option(package_name="onetake")
@click.pass_context
def main(context: click.Context, /, **options: Any) -> None:
    """Onetake gives a streaming chat reply one continuous voice. Without a command it serves the page and the API."""
    if context.invoked_subcommand is None:
        _serve(None, **options)
    else:
        context.default_map = {"serve": options}


@main.command("serve")
@click.argument("agent", metavar="MODULE:AGENT")
@_serving
def serve_agent(agent: str, **options: Any) -> None:
    """Serve the page and the API, with replies by a pydantic-ai agent of your own.

    MODULE is imported from the current directory or from what is installed. --model replaces the agent's own.
    """
    _serve(agent, **options)


def _serve(
    agent: str | None,
    host: str,
    port: int,
    no_browser: bool,
    model: str | None,
    voice: str | None,
    redis: str | None,
    origins: Sequence[str],
) -> None:
    # Here, since they take seconds to import, which other commands need not wait for.
    from onetake.server.access import checked_origin, new_token
    from onetake.server.agents import build_agent
    from onetake.server.app import create_app
    from onetake.server.own_agent import load_agent
    from onetake.server.serving import serve
    from onetake.server.speech import open_engines

    token = None if _is_loopback(host) else new_token()
    try:
        engines, absences = open_engines(os.environ)
        for absence in absences:
            if absence.wanted:
                click.echo(absence.line, err=True)
        _check_voice(voice, engines)
        app = create_app(
            build_agent(model) if agent is None else load_agent(agent, model),
            engines,
            model=model or agent or "scripted",
            voice=voice,
            store=_store(redis),
            hosts=[*LOOPBACK_NAMES, host] if token is None else None,
            token=token,
            origins=[checked_origin(origin) for origin in origins or _listed("ONETAKE_ALLOW_ORIGINS")],
        )
        listening = _listen(host, port)
    except UsageError as error:
        raise Refusal(str(error)) from None
    address = _address(host, listening.getsockname()[1], token)
    click.echo(f"Onetake is at {address}")
    if not no_browser:
        webbrowser.open(address)
    serve(app, listening)


main.add_command(cut)
main.add_command(replay)
main.add_command(say)
main.add_command(voices)


def _store(redis: str | None) -> Store:
    from onetake.server.store import MemoryStore

    if redis is None:
        return MemoryStore()
    try:
        from onetake.server.store.in_redis import open_store
    except ModuleNotFoundError:
        raise UsageError("--redis needs a package that is not installed: pip install 'onetake[redis]'") from None
    return open_store(redis)


def _listed(variable: str) -> list[str]:
    """What an environment variable lists, separated by commas."""
    return [each.strip() for each in os.environ.get(variable, "").split(",") if each.strip()]


def _check_voice(voice: str | None, engines: Sequence[Engine]) -> None:
    known = [each.id for engine in engines for each in engine.voices]
    if voice is not None and voice not in known:
        raise UsageError(f"there is no voice {voice!r}; there is: {', '.join(known) or 'none, install onetake[local]'}")


def _listen(host: str, port: int) -> socket.socket:
    """A socket bound to that address; in use, or not ours: UsageError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        reason = error.strerror or str(error)
        how = "choose another with --port or --host"
        raise UsageError(f"cannot listen on {host} port {port}: {reason}; {how}") from None


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _address(host: str, port: int, token: str | None) -> str:
    """The link to the page; beyond loopback it carries the token, without which nobody gets in."""
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/{f'?token={token}' if token else ''}"


if __name__ == "__main__":
    main()
